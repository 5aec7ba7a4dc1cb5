"""The web app: Streamlit's pages and the HTTP routes beside them, without torch."""
