// Thumbnails from sprite sheets, and small grey pictures sent as bytes.

/** Where tile `item` lies: sheet url and its pixel offset. `sprites` = { urls, tile, columns, per_sheet }. */
export function tileOf(sprites, item) {
  const within = item % sprites.per_sheet;
  return {
    url: sprites.urls[Math.floor(item / sprites.per_sheet)],
    x: (within % sprites.columns) * sprites.tile,
    y: Math.floor(within / sprites.columns) * sprites.tile,
  };
}

/** CSS properties of an element that shows tile `item` in `size` pixels. */
export function tileStyle(sprites, item, size) {
  const { url, x, y } = tileOf(sprites, item);
  const zoom = size / sprites.tile;
  return {
    width: `${size}px`,
    height: `${size}px`,
    backgroundImage: `url("${url}")`,
    backgroundPosition: `${-x * zoom}px ${-y * zoom}px`,
    backgroundSize: `${sprites.columns * size}px auto`,
    imageRendering: "pixelated",
  };
}

/** Draw base64 grey bytes, `width` × `height`, on a canvas, one pixel each. */
export function paintBytes(canvas, { ink, width, height }) {
  const bytes = Uint8Array.from(atob(ink), (letter) => letter.charCodeAt(0));
  [canvas.width, canvas.height] = [width, height];
  const image = new ImageData(width, height);
  bytes.forEach((value, i) => image.data.set([value, value, value, 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}
