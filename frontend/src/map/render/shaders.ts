// The WebGL2 program that draws the points. Distances in the fragment shader are in device pixels.

const VERTEX = `
layout(location = 0) in vec2 p0;
layout(location = 1) in vec2 p1;
layout(location = 2) in vec2 m0;
layout(location = 3) in vec2 m1;
layout(location = 4) in vec2 fade;   // opacity at the start and at the end of the tween
layout(location = 5) in vec4 paint;  // color, and how much of the opacity stays
layout(location = 6) in vec2 mark;   // marker shape; layer: 0 hidden, 1 behind, 2 in front
uniform vec4 weights;                // of p0, p1, m0, m1
uniform float share;                 // how far the fade is
uniform vec2 center;
uniform vec2 scale;                  // world to clip
uniform float radius;
uniform float halo;
uniform float opacity;
uniform float layer;
out vec4 color;
flat out float shape;
flat out float reach;

void main() {
  float visible = mix(fade.x, fade.y, share) * paint.a * opacity;
  if (visible < 0.004 || mark.y != layer) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = 0.0;
    return;
  }
  vec2 world = weights.x * p0 + weights.y * p1 + weights.z * m0 + weights.w * m1;
  gl_Position = vec4((world - center) * scale, 0.0, 1.0);
  reach = radius * SPREAD + halo + 0.75;
  gl_PointSize = 2.0 * reach;
  color = vec4(paint.rgb, visible);
  shape = mark.x;
}`;

const FRAGMENT = `
precision highp float;
in vec4 color;
flat in float shape;
flat in float reach;
uniform float radius;
uniform float halo;
uniform vec3 ground;
out vec4 pixel;

#ifdef MARKERS
float box(vec2 p, vec2 b) { vec2 d = abs(p) - b; return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0); }

float triangle(vec2 p, float r) {
  const float k = 1.7320508;
  p.x = abs(p.x) - r; p.y = p.y + r / k;
  if (p.x + k * p.y > 0.0) p = vec2(p.x - k * p.y, -k * p.x - p.y) / 2.0;
  p.x -= clamp(p.x, -2.0 * r, 0.0);
  return -length(p) * sign(p.y);
}

float star(vec2 p, float r) {
  const float an = 0.6283185; const float en = 0.9424778;
  vec2 acs = vec2(cos(an), sin(an)); vec2 ecs = vec2(cos(en), sin(en));
  float bn = mod(atan(p.x, p.y), 2.0 * an) - an;
  p = length(p) * vec2(cos(bn), abs(sin(bn)));
  p -= r * acs;
  p += ecs * clamp(-dot(p, ecs), 0.0, r * acs.y / ecs.y);
  return length(p) * sign(p.x);
}

float away(vec2 p, float r) {
  int s = int(shape + 0.5);
  if (s == 1) return box(p, vec2(0.86 * r));
  if (s == 2) return triangle(vec2(p.x, p.y + 0.12 * r), 0.98 * r);
  if (s == 3) return box(mat2(0.7071, 0.7071, -0.7071, 0.7071) * p, vec2(0.80 * r));
  if (s == 4) { vec2 q = mat2(0.7071, 0.7071, -0.7071, 0.7071) * p; return min(box(q, vec2(1.12 * r, 0.34 * r)), box(q, vec2(0.34 * r, 1.12 * r))); }
  if (s == 5) return min(box(p, vec2(1.08 * r, 0.34 * r)), box(p, vec2(0.34 * r, 1.08 * r)));
  if (s == 6) return triangle(vec2(p.x, -p.y + 0.12 * r), 0.98 * r);
  if (s == 7) return star(p, 1.25 * r);
  if (s == 8) return abs(length(p) - 0.78 * r) - 0.26 * r;
  if (s == 9) return box(p, vec2(1.12 * r, 0.44 * r));
  return length(p) - r;
}
#else
float away(vec2 p, float r) { return length(p) - r; }
#endif

void main() {
  vec2 p = (gl_PointCoord * 2.0 - 1.0) * reach;
  p.y = -p.y;
  float d = away(p, radius);
  float inside = clamp(0.5 - d, 0.0, 1.0);
  float around = clamp(0.5 + halo - d, 0.0, 1.0) * step(0.01, halo) * 0.85;
  float alpha = max(inside, around) * color.a;
  pixel = vec4(mix(ground, color.rgb, inside / max(max(inside, around), 1e-4)) * alpha, alpha);
}`;

/**
 * Sources of the program: one for plain discs, one for all marker shapes, which cost more than twice as much where
 * no graphics card does the work.
 */
export function sources(markers: boolean): [string, string] {
  const head = `#version 300 es\n#define SPREAD ${markers ? "1.25" : "1.0"}\n${markers ? "#define MARKERS\n" : ""}`;
  return [head + VERTEX, head + FRAGMENT];
}
