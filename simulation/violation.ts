/** A rule of the simulation is broken. */
export class Violation extends Error {
  override readonly name = 'Violation';
  /** Example: `I1`. */
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

/**
 * Records a violation, because the product might catch an error; the next moment ends the
 * scenario.
 */
export type Violate = (rule: string, detail: string) => void;
