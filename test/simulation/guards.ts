// The guards of the product, and what becomes of it without one of them. A guard is taken away from the
// outside, by what stands between the product and its world: there is no switch in the product.

import type { ConsumerDeps } from '#core/consumer-deps.ts';

export interface Strip {
  isStripped(guard: string): boolean;
  /** A command's input, without the condition that is stripped. */
  input(command: string, input: Readonly<Record<string, unknown>>): unknown;
  deps(deps: ConsumerDeps): ConsumerDeps;
}

export const noGuardStripped: Strip = {
  isStripped: () => false,
  input: (_command, input) => input,
  deps: (deps) => deps,
};
