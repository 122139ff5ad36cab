// The form of the table of verbs. Parsing, help and completion are made from its rows, and a row
// says how its verb runs.

import type { Column } from '#core/command-line/columns.ts';
import type { Input, StackCommand } from '#operate/command.ts';
import type { Api } from './api.ts';
import type { Picture } from './output/terminal.ts';
import type { Keystone } from './sign-in/keystone.ts';

export interface Option {
  readonly type: 'string' | 'boolean';
  /** One letter: `-f`. */
  readonly short?: string;
  /** Name of the value in the help: `--until <time>`. */
  readonly value?: string;
  readonly help: string;
  readonly choices?: readonly string[];
  /** `time`: a time, a date or a duration; `count`: an integer from 1. */
  readonly reads?: 'time-after' | 'time-before' | 'count';
  readonly isRequired?: boolean;
  readonly isRepeated?: boolean;
  /** The name or id of a project: the verb reads the id. */
  readonly isProject?: boolean;
}

export type Options = Readonly<Record<string, Option>>;

export interface Argument {
  readonly name: string;
  readonly help: string;
  readonly choices?: readonly string[];
  /** One or more; only of the last argument. */
  readonly isRepeated?: boolean;
  readonly isOptional?: boolean;
  /** The name or id of a project: the verb reads the id. */
  readonly isProject?: boolean;
}

/** Rows, of which a caller may choose the columns. */
export interface ShownTable {
  readonly columns: readonly Column<unknown>[];
  readonly rows: readonly unknown[];
  /** Lines above and below the table. */
  readonly head?: readonly string[];
  readonly foot?: readonly string[];
  /** One row, whose columns are shown below one another. */
  readonly isOne?: boolean;
}

/** The result of a verb: a document for programs, and a table or lines for people. */
export type Shown = {
  readonly json: unknown;
  /** 1 where the answer is no; 0 without it. */
  readonly exitCode?: number;
} & (
  | { readonly table: ShownTable; readonly lines?: undefined }
  | { readonly table?: undefined; readonly lines: (width: number) => readonly string[] }
);

/** True if the verb signs in at Keystone, and has the options for that. */
export function signsIn(verb: Verb): verb is ApiVerb | KeystoneVerb {
  return 'ask' in verb || 'askKeystone' in verb;
}

interface Row {
  /**
   * `['hosts', 'list']`, `['firmware', 'baseline set']`, or `['capacity']` for a resource without
   * verbs.
   */
  readonly path: readonly [resource: string, verb?: string];
  readonly summary: string;
  readonly arguments?: readonly Argument[];
  readonly options?: Options;
  /** A whole command line, which the parser accepts. */
  readonly example: string;
}

/** What a verb needs that waits for the end of what it has asked for. */
export interface Waiting {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** A line for those who watch, on standard error. */
  readonly say: (line: string) => void;
  /** Replaces what a terminal shows; undefined where that is not possible. */
  readonly draw?: ((picture: Picture) => void) | undefined;
}

export interface ApiVerb extends Row {
  readonly ask: (api: Api, input: Input, waiting: Waiting) => Promise<Shown>;
}

/** Asks Keystone itself, as the operator. The service need not be in the catalog yet. */
export interface KeystoneVerb extends Row {
  readonly askKeystone: (asking: KeystoneAsking) => Promise<Shown>;
}

export interface KeystoneAsking {
  readonly keystone: Keystone;
  readonly input: Input;
  /** From OS_REGION_NAME, its option or clouds.yaml. */
  readonly region: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string | undefined;
}

export interface StackVerb extends Row {
  readonly load: () => Promise<StackCommand>;
}

export interface LocalVerb extends Row {
  readonly print: (input: Input) => string;
}

export type Verb = ApiVerb | KeystoneVerb | StackVerb | LocalVerb;

export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notAllowed: 3,
  unreachable: 4,
} as const;

/** Ends the command with one sentence. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly exitCode: number;

  constructor(exitCode: (typeof exitCodes)[keyof typeof exitCodes], message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The words or settings are wrong; the message says what is allowed. */
export function wrongUsage(message: string): CommandFailed {
  return new CommandFailed(exitCodes.usage, message);
}
