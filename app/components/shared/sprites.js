// Thumbnails of a data set: sheets of tiles, item after item in the official order.

/** Where item `i` lies: which sheet, and its corner there in pixels. */
export function tileAt({ tile, columns, per_sheet }, i) {
  const place = i % per_sheet;
  return { sheet: Math.floor(i / per_sheet), x: (place % columns) * tile, y: Math.floor(place / columns) * tile };
}

/** The sheets of one data set, loaded when first asked for. */
export class Sprites {
  constructor(layout, onload = () => {}) {
    this.layout = layout;
    this.onload = onload;
    this.images = new Map();
  }

  /** Draw item `i` into the square at (x, y) of a 2-D context; false while its sheet is still on the way. */
  draw(context, i, x, y, size) {
    const { sheet, x: sx, y: sy } = tileAt(this.layout, i);
    const image = this.image(sheet);
    if (!image) return false;
    const { tile } = this.layout;
    context.imageSmoothingEnabled = false;
    context.drawImage(image, sx, sy, tile, tile, x, y, size, size);
    return true;
  }

  /** The decoded sheet, or null (and a request) when it is not there yet. */
  image(sheet) {
    const known = this.images.get(sheet);
    if (known) return known.complete && known.naturalWidth ? known : null;
    const url = this.layout.urls[sheet];
    if (!url) return null;
    const image = new Image();
    image.decoding = "async";
    image.onload = () => this.onload();
    image.src = url;
    this.images.set(sheet, image);
    return null;
  }

  /** CSS that shows item `i` in a box of `size` pixels. */
  background(i, size) {
    const { tile, columns, per_sheet, urls } = this.layout;
    const { sheet, x, y } = tileAt(this.layout, i);
    const scale = size / tile;
    return {
      backgroundImage: urls[sheet] ? `url("${urls[sheet]}")` : "none",
      backgroundPosition: `${-x * scale}px ${-y * scale}px`,
      // The last sheet may hold fewer rows, so that only the width is fixed.
      backgroundSize: `${Math.min(columns, per_sheet) * tile * scale}px auto`,
      backgroundRepeat: "no-repeat",
      imageRendering: "pixelated",
    };
  }
}
