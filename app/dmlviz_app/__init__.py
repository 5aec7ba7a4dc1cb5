"""The web app: a Streamlit script with a Starlette server around it; it loads no torch."""
