// A check of the kit, and how it is run.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { Trial } from '#test/drivers/trial.ts';

/** The driver does not keep the contract; the message says where. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
}

export interface Check {
  readonly title: string;
  /** It takes long: another check plays a sample of it. */
  readonly isLong?: true;
  /** Throws unless the driver keeps the contract. */
  readonly run: (trial: Trial) => Promise<void>;
}

/** Runs a check on a host of its own. */
export async function runCheck(fixture: DriverFixture, { run }: Check): Promise<void> {
  const trial = new Trial(fixture);
  try {
    await trial.start();
    await run(trial);
  } finally {
    trial.remove();
  }
}
