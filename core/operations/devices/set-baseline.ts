import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import {
  type BaselineKey,
  baselinesMax,
  type FirmwareBaseline,
} from '#core/domain/device/firmware/firmware-baselines.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { BaselineNotFound } from '#core/domain/operator-errors.ts';
import { timeNow } from '#core/operations/time-now.ts';

/**
 * Sets what the component must run on all devices of the model. Programs nothing.
 *
 * @throws InvalidInput
 */
export async function setBaseline(
  deps: Deps,
  caller: Caller,
  key: BaselineKey,
  version: string,
): Promise<FirmwareBaseline> {
  const baseline = { ...key, version, by: caller.userId, at: timeNow(deps) };
  if (!(await deps.store.baselines.putBaseline(baseline))) {
    throw new InvalidInput(`The cloud already has ${baselinesMax} baselines, the maximum.`);
  }
  deps.log.info('Baseline set', { ...key, version });
  return baseline;
}

/** @throws BaselineNotFound */
export async function deleteBaseline(deps: Deps, key: BaselineKey): Promise<void> {
  if (!(await deps.store.baselines.deleteBaseline(key))) {
    throw new BaselineNotFound(key.model, key.component);
  }
  deps.log.info('Baseline deleted', key);
}
