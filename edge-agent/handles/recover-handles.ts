// Prepares again, after a boot and without the cloud, what the boot before had prepared, so that
// servers which start with the host find their accelerators. The cloud confirms or corrects it: a
// handle that it has given to another holder since is cleaned before that holder gets it.

import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import type { Checkpoint } from '#agent/state/checkpoint.ts';
import type { PreparedMark } from '#agent/state/checkpoint-state.ts';

interface RecoverDeps {
  readonly checkpoint: Checkpoint;
  readonly drivers: readonly Driver[];
  readonly log: Log;
}

/** Never rejects: what cannot be prepared is left to the job that the cloud sends. */
export async function recoverHandles(deps: RecoverDeps): Promise<void> {
  for (const [uuid, mark] of Object.entries(deps.checkpoint.lost())) {
    const fields = { handle: uuid, driver: mark.driver, address: mark.address };
    try {
      await recover(deps, uuid, mark);
      deps.log.info('Handle prepared again after a boot', fields);
    } catch (error) {
      deps.log.warn('Handle not prepared again', { ...fields, reason: reasonOf(error) });
    }
  }
}

async function recover(
  { checkpoint, drivers }: RecoverDeps,
  uuid: string,
  mark: PreparedMark,
): Promise<void> {
  const driver = drivers.find(({ name }) => name === mark.driver);
  if (!driver?.prepare || !driver.find) {
    await checkpoint.recover(uuid);
    throw new Error(`The agent has no driver ${mark.driver} that prepares handles.`);
  }
  const { address, type, info } = mark;
  const work: HandleWork = { address, uuid, type, info };
  const object = await driver.find(work);
  if (object.state === 'other') {
    await checkpoint.recover(uuid);
    throw new Error(`It exists as ${object.what}.`);
  }
  // The mark is on disk before the object exists, as for a job.
  await checkpoint.recover(uuid, mark);
  if (object.state === 'absent') await driver.prepare(work);
}
