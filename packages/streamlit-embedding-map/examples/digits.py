import streamlit as st
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from streamlit_embedding_map import embedding_map

digits = load_digits()
first = st.slider("First component", 0, 4, 0)
places = PCA(6, random_state=0).fit_transform(digits.data)[:, first : first + 2]
near = NearestNeighbors(n_neighbors=8).fit(digits.data).kneighbors()
view = embedding_map(places, digits.target, (digits.images * 15.9).astype("uint8"), near, key="digits")
st.write(f"{len(view.selected)} selected, pinned: {view.pinned}")
