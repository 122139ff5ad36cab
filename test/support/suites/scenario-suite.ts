// A program that plays scenarios: it prints each step and each outcome, ends what it has started,
// also after a signal, and exits with 1 if a scenario has failed.

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
  report({ name, seconds, hasPassed, note }: Outcome): void {
    console.log(`${hasPassed ? 'ok    ' : 'FAILED'} ${secondsText(seconds).padStart(7)}  ${name}`);
    if (note) console.log(note.replaceAll(/^/gm, ' '.repeat(16)));
    this.count(hasPassed);
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
    process.exit(failed > 0 ? 1 : 0);
  }

  async #close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close();
  }
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
