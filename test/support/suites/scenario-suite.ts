// A program that plays scenarios: it prints each step and each outcome, ends what it has started,
// also after a signal, and exits with 1 if a scenario has failed. With --again, one or two failed
// scenarios are played once more in a run of their own, since real services are not always steady;
// those that pass there are printed as UNSTEADY.

import { spawnSync } from 'node:child_process';

export interface Outcome {
  readonly name: string;
  readonly seconds: number;
  readonly hasPassed: boolean;
  /** The note of the scenario, or the reason of its failure. */
  readonly note: string;
}

interface RunOptions {
  /** The step that is printed last. */
  readonly lastStep?: string;
  /** What of an error is printed; without it, all. */
  readonly shown?: (error: unknown) => unknown;
}

export class ScenarioSuite {
  readonly #startedAt = performance.now();
  readonly #counts = { passed: 0, failed: 0 };
  readonly #failed: Outcome[] = [];
  readonly #closing: (() => Promise<unknown>)[] = [];
  #isStaying = false;

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  step(sentence: string): void {
    console.log(`${secondsText(this.elapsedMs / 1000).padStart(14)}  ${sentence}`);
  }

  /** What is given last is closed first. */
  closeAtEnd(close: () => Promise<unknown>): void {
    this.#closing.push(close);
  }

  count(hasPassed: boolean): void {
    this.#counts[hasPassed ? 'passed' : 'failed'] += 1;
  }

  /** Prints the outcome and counts it. */
  report(outcome: Outcome): void {
    const { name, seconds, hasPassed, note } = outcome;
    console.log(`${hasPassed ? 'ok    ' : 'FAILED'} ${secondsText(seconds).padStart(7)}  ${name}`);
    if (note) console.log(note.replaceAll(/^/gm, ' '.repeat(16)));
    this.count(hasPassed);
    if (!hasPassed) this.#failed.push(outcome);
  }

  /** Until Ctrl-C, after which the suite ends as it would without. */
  async stay(): Promise<void> {
    this.#isStaying = true;
    await new Promise((resolve) => process.once('SIGINT', resolve));
  }

  /** Ends the process. */
  async run(main: () => Promise<void>, { lastStep, shown }: RunOptions = {}): Promise<never> {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (this.#isStaying && signal === 'SIGINT') return;
        void this.#close().finally(() => process.exit(1));
      });
    }
    try {
      await main();
    } catch (error) {
      this.count(false);
      console.error(shown ? shown(error) : error);
    } finally {
      await this.#close();
    }
    if (lastStep) this.step(lastStep);
    const { passed, failed } = this.#counts;
    console.log(`${passed} passed, ${failed} failed`);
    const isOfScenarios = failed <= repeatedMax && failed === this.#failed.length;
    if (failed > 0 && isOfScenarios && process.argv.includes('--again')) {
      // After the suite has unlocked its directory, which it does as this process ends.
      process.once('exit', () => {
        process.exitCode = playAgain(this.#failed) ? 0 : 1;
      });
    }
    process.exit(failed > 0 ? 1 : 0);
  }

  async #close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close();
  }
}

/** More have another cause than a service that was not steady. */
const repeatedMax = 2;

/** Whether all of them pass in a run of their own. */
function playAgain(failed: readonly Outcome[]): boolean {
  const names = failed.map(({ name }) => name);
  const [, script = '', ...others] = process.argv;
  const kept = others.filter(
    (option, index) => !['--again', '--only'].includes(option) && others[index - 1] !== '--only',
  );
  console.log(`Played once more, alone: ${names.join(', ')}`);
  const command = [...process.execArgv, script, ...kept, '--only', names.join('|')];
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
  if (status !== 0) return false;
  for (const { name, note } of failed) console.log(`UNSTEADY  ${name}: ${note.split('\n')[0]}`);
  return true;
}

/** The value of an option of the suite's command. */
export function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** Whether the name of a scenario has one of the words of `--only`, if any are given. */
export function isWanted(name: string): boolean {
  const words = (optionOf('--only') ?? '').split('|');
  return words.some((word) => name.includes(word));
}

function secondsText(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}
