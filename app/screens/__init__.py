"""The pages: thin scripts that Streamlit runs."""
