// The kit holds a driver to the contract of edge-agent/drivers/contract/driver.ts, on hosts of its
// fixture.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { Trial } from '#test/drivers/trial.ts';
import type { Check } from './check.ts';
import { descriptionChecks } from './description-checks.ts';
import { discoveryChecks, filesRead } from './discovery-checks.ts';
import { guardChecks, offersPciFunctions } from './guard-checks.ts';
import { cleanChecks, isOnlyCleaned, isPrepared, prepareChecks } from './handle-checks.ts';
import { componentChecks, imageChecks } from './image-checks.ts';
import { planChecks, setUpChecks } from './setup-checks.ts';

/**
 * The checks of a driver.
 *
 * @param hasKernel whether the fixture has the kernel's side; without it only discovery and plans
 *   are checked
 */
export async function checksOf(fixture: DriverFixture, hasKernel = true): Promise<Check[]> {
  const trial = new Trial(fixture);
  try {
    await trial.start();
    const offered = await trial.offered();
    return [
      ...discoveryChecks(fixture, await filesRead(fixture)),
      ...descriptionChecks,
      ...((await offersPciFunctions(trial)) ? guardChecks : []),
      ...(trial.driver.plan ? planChecks : []),
      ...(hasKernel && trial.driver.plan ? setUpChecks : []),
      ...(hasKernel && offered.some(isPrepared) ? prepareChecks : []),
      ...(hasKernel && offered.some(isOnlyCleaned) ? cleanChecks : []),
      ...(trial.driver.images ? imageChecks : []),
      ...(trial.driver.components ? componentChecks : []),
    ];
  } finally {
    trial.remove();
  }
}
