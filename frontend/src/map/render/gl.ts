// @ts-nocheck
// Points by WebGL2: the tween runs on the graphics card, a frame of animation only sets a few numbers.
import { sources } from "./shaders.ts";
import { hermite } from "../math/tween.ts";

const UNIFORMS = ["weights", "share", "centre", "scale", "radius", "halo", "opacity", "layer", "ground"];

/** Draws points on a canvas; throws when WebGL2 is not to be had. `onrestore` is called after a lost context is back. */
export class GlRenderer {
  kind = "webgl2";

  constructor(canvas, onrestore = () => {}) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: false, alpha: true, depth: false, stencil: false });
    if (!this.gl) throw new Error("no WebGL2");
    this.build();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.build();
      onrestore();
    });
  }

  build() {
    const { gl } = this;
    this.discs = this.link(false);
    this.shapes = null; // linked when first asked for
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    this.buffers = [0, 1, 2, 3].map((slot) => this.attribute(slot, 2, gl.FLOAT, false));
    this.buffers.push(this.attribute(4, 2, gl.UNSIGNED_BYTE, true));
    this.buffers.push(this.attribute(5, 4, gl.UNSIGNED_BYTE, true));
    this.buffers.push(this.attribute(6, 2, gl.UNSIGNED_BYTE, false));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  link(markers) {
    const { gl } = this;
    const program = gl.createProgram();
    const types = [gl.VERTEX_SHADER, gl.FRAGMENT_SHADER];
    sources(markers).forEach((source, i) => {
      const shader = gl.createShader(types[i]);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    });
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`the point program does not link: ${gl.getProgramInfoLog(program)}`);
    }
    return { program, at: Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)])) };
  }

  attribute(slot, size, type, normalised) {
    const { gl } = this;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(slot);
    gl.vertexAttribPointer(slot, size, type, normalised, 0, 0);
    return buffer;
  }

  upload(slot, data) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[slot]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.DYNAMIC_DRAW);
  }

  /** Take the motion of the points. */
  setTween(tween) {
    [tween.p0, tween.p1, tween.m0, tween.m1, tween.fade].forEach((data, slot) => this.upload(slot, data));
    this.count = tween.n;
  }

  /** Take colours (r, g, b, opacity a point) and marks (shape, layer a point), bytes. */
  setPaint(paint, marks) {
    this.upload(5, paint);
    this.upload(6, marks);
    this.marked = marks.some((mark, j) => j % 2 === 0 && mark !== 0);
    this.layers = [1, 2].filter((layer) => marks.some((mark, j) => j % 2 === 1 && mark === layer));
  }

  resize(width, height, ratio) {
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ratio = ratio;
  }

  /** Draw at time t of the tween. `look` is pointLook's, `ground` the colour behind. */
  draw({ view, port, t, moves, look, ground }) {
    const { gl } = this;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.count || !this.layers) return;
    if (this.marked) this.shapes ??= this.link(true);
    const { program, at } = this.marked ? this.shapes : this.discs;
    gl.useProgram(program);
    gl.uniform4fv(at.weights, moves ? hermite(t) : [0, 1, 0, 0]);
    gl.uniform1f(at.share, moves ? t : 1);
    gl.uniform2f(at.centre, view.x, view.y);
    gl.uniform2f(at.scale, (2 * view.k) / port.width, (2 * view.k) / port.height);
    gl.uniform1f(at.radius, look.radius * this.ratio);
    gl.uniform1f(at.halo, look.halo * this.ratio);
    gl.uniform1f(at.opacity, look.opacity);
    gl.uniform3f(at.ground, ground[0] / 255, ground[1] / 255, ground[2] / 255);
    for (const layer of this.layers) {
      gl.uniform1f(at.layer, layer);
      gl.drawArrays(gl.POINTS, 0, this.count);
    }
  }

  destroy() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
