// Gray images as numbers, and their resampling as Pillow does it. Pure: no DOM.

/** Gray levels, row by row. */
export interface Gray {
  width: number;
  height: number;
  data: Float32Array;
}

export type Filter = "box" | "bilinear" | "bicubic";

const KERNELS: Record<Filter, { support: number; weight: (x: number) => number }> = {
  box: { support: 0.5, weight: (x) => (x > -0.5 && x <= 0.5 ? 1 : 0) },
  bilinear: { support: 1, weight: (x) => Math.max(0, 1 - Math.abs(x)) },
  bicubic: {
    support: 2,
    weight(x) {
      const a = -0.5;
      const far = Math.abs(x);
      if (far < 1) return ((a + 2) * far - (a + 3)) * far * far + 1;
      return far < 2 ? (((far - 5) * far + 8) * far - 4) * a : 0;
    },
  },
};

export function gray(width: number, height: number): Gray {
  return { width, height, data: new Float32Array(width * height) };
}

/** The part of an image from (left, top) on; beyond its edges all is 0. */
export function cut({ width, height, data }: Gray, left: number, top: number, wide: number, tall: number): Gray {
  const part = gray(wide, tall);
  for (let y = 0; y < tall; y++) {
    for (let x = 0; x < wide; x++) {
      const [column, row] = [left + x, top + y];
      if (column >= 0 && column < width && row >= 0 && row < height)
        part.data[y * wide + x] = data[row * width + column];
    }
  }
  return part;
}

/** Scaled to `width` × `height`, all of it or only columns `from` to `to`, by `Image.resize(…, box=…)`. */
export function resize(image: Gray, width: number, height: number, filter: Filter, from = 0, to = image.width): Gray {
  return transpose(resizeRows(transpose(resizeRows(image, width, filter, from, to)), height, filter));
}

function resizeRows(image: Gray, width: number, filter: Filter, from = 0, to = image.width): Gray {
  const { support, weight } = KERNELS[filter];
  const scale = (to - from) / width;
  const spread = Math.max(scale, 1);
  const wide = gray(width, image.height);
  for (let column = 0; column < width; column++) {
    const center = from + (column + 0.5) * scale;
    const first = Math.max(0, Math.trunc(center - support * spread + 0.5));
    const last = Math.min(image.width, Math.trunc(center + support * spread + 0.5));
    const weights = Array.from({ length: last - first }, (_, i) => weight((first + i - center + 0.5) / spread));
    const total = weights.reduce((sum, one) => sum + one, 0);
    for (let row = 0; row < image.height; row++) {
      let sum = 0;
      for (let i = 0; i < weights.length; i++) sum += image.data[row * image.width + first + i] * weights[i];
      wide.data[row * width + column] = sum / total;
    }
  }
  return wide;
}

function transpose({ width, height, data }: Gray): Gray {
  const result = gray(height, width);
  for (let row = 0; row < height; row++)
    for (let column = 0; column < width; column++) result.data[column * height + row] = data[row * width + column];
  return result;
}

/** Each row moved sideways by `slant` per row, so that the middle row stays, as a bilinear affine `Image.transform`. */
export function shear(image: Gray, slant: number): Gray {
  const { width, height, data } = image;
  const result = gray(width, height);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const place = column + 0.5 + slant * (row + 0.5) - (slant * height) / 2;
      if (place < 0 || place >= width) continue;
      const left = Math.floor(place - 0.5);
      const share = place - 0.5 - left;
      const at = (x: number) => data[row * width + Math.min(width - 1, Math.max(0, x))];
      result.data[row * width + column] = at(left) * (1 - share) + at(left + 1) * share;
    }
  }
  return result;
}

/** Each pixel becomes the largest of the nine around it. */
export function dilate({ width, height, data }: Gray): Gray {
  const thick = gray(width, height);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      let most = 0;
      for (let y = Math.max(0, row - 1); y <= Math.min(height - 1, row + 1); y++)
        for (let x = Math.max(0, column - 1); x <= Math.min(width - 1, column + 1); x++)
          most = Math.max(most, data[y * width + x]);
      thick.data[row * width + column] = most;
    }
  }
  return thick;
}
