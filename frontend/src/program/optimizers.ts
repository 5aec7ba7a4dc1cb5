// How weights follow their gradients, as torch's Adam, SGD and RMSprop do it. Pure: no DOM.
import type { Numbers } from "./pointwise.ts";

/** Settings of an optimizer, by torch's names. */
export interface OptimizerSettings {
  betas?: [number, number];
  eps?: number;
  alpha?: number;
  momentum?: number;
  weight_decay?: number;
}

/** Changes an array of weights by its gradient. */
export type Update = (gradient: Numbers, rate: number) => void;

export const OPTIMIZERS: Record<string, (weights: Numbers, settings: OptimizerSettings) => Update> = {
  adam(weights, { betas: [one, two] = [0.9, 0.999], eps = 1e-8, weight_decay = 0 }) {
    const [mean, square] = [new Float32Array(weights.length), new Float32Array(weights.length)];
    let steps = 0;
    return (gradient, rate) => {
      steps++;
      const size = rate / (1 - one ** steps);
      const root = Math.sqrt(1 - two ** steps);
      for (let i = 0; i < weights.length; i++) {
        const slope = gradient[i] + weight_decay * weights[i];
        mean[i] += (1 - one) * (slope - mean[i]);
        square[i] = two * square[i] + (1 - two) * slope * slope;
        weights[i] -= (size * mean[i]) / (Math.sqrt(square[i]) / root + eps);
      }
    };
  },
  sgd(weights, { momentum = 0, weight_decay = 0 }) {
    const speed = new Float32Array(weights.length);
    return (gradient, rate) => {
      for (let i = 0; i < weights.length; i++) {
        speed[i] = momentum * speed[i] + gradient[i] + weight_decay * weights[i];
        weights[i] -= rate * speed[i];
      }
    };
  },
  rmsprop(weights, { alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0 }) {
    const [square, speed] = [new Float32Array(weights.length), new Float32Array(weights.length)];
    return (gradient, rate) => {
      for (let i = 0; i < weights.length; i++) {
        const slope = gradient[i] + weight_decay * weights[i];
        square[i] = alpha * square[i] + (1 - alpha) * slope * slope;
        speed[i] = momentum * speed[i] + slope / (Math.sqrt(square[i]) + eps);
        weights[i] -= rate * speed[i];
      }
    };
  },
};
