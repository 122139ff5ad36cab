// The DynamoDB document client over the tables in memory: each command is one effect of its
// process.

import type { DocumentClients, Documents } from '#core/store/table/documents.ts';
import { refuseWeakRead, untilNoConflict } from '#core/store/table/documents.ts';
import type { Faults } from '#simulation/faults.ts';
import type { Strip } from '#simulation/guards.ts';
import type { Random } from '#simulation/random.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';
import type { Violate } from '#simulation/violation.ts';
import { type MemoryDatabase, named } from './memory-database.ts';

interface DocumentParts {
  readonly timeline: Timeline;
  readonly process: Process;
  readonly database: MemoryDatabase;
  readonly faults: Faults;
  readonly random: Random;
  readonly strip: Strip;
  readonly mirror?: Mirror | undefined;
  readonly violate?: Violate | undefined;
  /** What goes wrong with this write. */
  readonly trouble?: (() => WriteTrouble | undefined) | undefined;
}

export type WriteTrouble =
  | { readonly how: 'twice' | 'conflict' }
  | { readonly how: 'again'; readonly afterMs: number };

/** Called with each command and its outcome, before the process gets the outcome. */
export type Mirror = (command: object, outcome: Outcome) => Promise<void>;
export type Outcome = { readonly answer: unknown } | { readonly error: Error };

interface Command {
  readonly input: Readonly<Record<string, unknown>>;
  readonly constructor: { readonly name: string };
}

const isWrite = /^(Put|Update|Delete|TransactWrite)Command$/;
/** Names of the read commands in traces, by the names of the document client. */
const readNames: Readonly<Record<string, string>> = {
  GetCommand: 'GetItemCommand',
  BatchGetCommand: 'BatchGetItemCommand',
};

export function documentsFor(parts: DocumentParts): DocumentClients {
  const client = (isStrong: boolean) =>
    ({
      send: async (command: Command) => {
        const { name } = command.constructor;
        if (isStrong) refuseWeakRead(readNames[name] ?? name, command.input);
        return isWrite.test(name) ? write(parts, command) : execute(parts, command);
      },
    }) as unknown as Documents;
  return { documents: client(false), strong: client(true), close: () => {} };
}

async function write(parts: DocumentParts, command: Command): Promise<unknown> {
  const { timeline, process, random, strip } = parts;
  if (strip.isStripped('retry of TransactionConflict')) return execute(parts, command);
  return untilNoConflict(
    () => execute(parts, command),
    (attempt) => timeline.sleep(process, random.between(1, 10 * 2 ** attempt)),
  );
}

function execute(parts: DocumentParts, command: Command): Promise<unknown> {
  const { timeline, process, database, faults, strip, mirror } = parts;
  const { name } = command.constructor;
  return timeline.effect(process, `DynamoDB ${name.slice(0, -'Command'.length)}`, async () => {
    if (faults.happens('database throttled')) {
      throw named('ProvisionedThroughputExceededException', 'too much');
    }
    const trouble = isWrite.test(name) ? parts.trouble?.() : undefined;
    const isConflict = trouble?.how === 'conflict' || faults.happens('conflict');
    if (isWrite.test(name) && isConflict) throw conflict(command);
    const run = () => {
      try {
        return database.execute(name, strip.input(name, command.input));
      } catch (error) {
        strip.refused(command.input, database.row);
        const { name: fault, message } = error as Error;
        if (fault === 'ValidationException') parts.violate?.('E', `${name}: ${message}`);
        throw error;
      }
    };
    // DynamoDB recognizes a repeated transaction by its token.
    const mayBeTwice = !mirror && isWrite.test(name) && !name.startsWith('Transact');
    if (mayBeTwice && (faults.happens('write twice') || trouble?.how === 'twice')) run();
    if (mayBeTwice && trouble?.how === 'again') {
      timeline.at(timeline.now() + trouble.afterMs, () => void attempt(run));
    }
    if (!mirror) return run();
    const outcome = attempt(() => database.execute(name, command.input));
    await mirror(command, outcome);
    if ('error' in outcome) throw outcome.error;
    return outcome.answer;
  });
}

function attempt(act: () => unknown): Outcome {
  try {
    return { answer: act() };
  } catch (error) {
    return { error: error as Error };
  }
}

function conflict({ input }: Command): Error {
  const items = input.TransactItems;
  if (!Array.isArray(items)) return named('TransactionConflictException', 'conflict');
  return Object.assign(named('TransactionCanceledException', 'Transaction cancelled'), {
    CancellationReasons: items.map((_, index) => ({
      Code: index === 0 ? 'TransactionConflict' : 'None',
    })),
  });
}
