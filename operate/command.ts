// The form of a command that works on a stack. The table of verbs (ops/table.ts) parses its words.

/** The arguments and options of one call, after the option's `reads` of ops/verb.ts. */
export interface Input {
  /** @throws Error if the table has no such argument */
  argument(name: string): string;
  repeated(name: string): readonly string[];
  /** The first value of a repeated option. */
  text(option: string): string | undefined;
  /** @throws Error if the table does not require the option */
  required(option: string): string;
  all(option: string): readonly string[];
  has(option: string): boolean;
}

/** A command that works on the stack itself, with its settings and AWS credentials. */
export interface StackCommand {
  readonly main: (input: Input) => Promise<void>;
  /** True for an error of a command that ran and was refused, exit code 1. */
  readonly isRefusal?: (error: Error) => boolean;
}
