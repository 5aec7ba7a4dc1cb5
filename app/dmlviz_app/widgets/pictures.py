"""Pictures on a page, as data URLs: the address of Streamlit's own pictures is open to all who know it."""

import io
from base64 import b64encode
from html import escape

import numpy as np
import streamlit as st
from PIL import Image


def picture(image: np.ndarray | str, *, alt: str, width: int | None = None, caption: str = "") -> None:
    """Render a picture.

    Args:
        image: uint8, h × w, h × w × 3 or h × w × 4; or an SVG picture as text.
        alt: Alternative text.
        width: Its width in pixels; that of the column when None.
        caption: Words below it.
    """
    if isinstance(image, str):
        source = f"data:image/svg+xml;base64,{b64encode(image.encode()).decode()}"
    else:
        buffer = io.BytesIO()
        Image.fromarray(np.asarray(image)).save(buffer, "PNG")
        source = f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"
    picture_at(source, alt=alt, width=width, caption=caption)


def picture_at(address: str, *, alt: str, width: int | None = None, caption: str = "") -> None:
    """Render the picture of an address; the other arguments are those of `picture`."""
    size = "100%" if width is None else f"{width}px"
    style = f"width: {size}; max-width: 100%; image-rendering: pixelated; display: block"
    below = f'<div style="text-align: center; font-size: 0.875rem">{escape(caption)}</div>' if caption else ""
    st.html(
        f'<img src="{escape(address)}" alt="{escape(alt)}" style="{style}">{below}',
        width="stretch" if width is None else width,
    )
