/** Something that must always hold does not. */
export class Violation extends Error {
  override readonly name = 'Violation';
  /** E.g. `I1`. */
  readonly rule: string;

  constructor(rule: string, what: string) {
    super(`${rule}: ${what}`);
    this.rule = rule;
  }
}

/** Notes it where nobody can catch it; the run ends at the next moment. */
export type Violate = (rule: string, what: string) => void;
