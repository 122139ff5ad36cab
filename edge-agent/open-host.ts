// Opens the host: what the drivers work with, and the drivers themselves. The same for the agent
// and for the commands that look at the host without it.

import { join } from 'node:path';
import { thingName } from '#core/contracts/topics.ts';
import { readBootId } from './boot-id.ts';
import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Driver } from './drivers/driver.ts';
import { noDomains, openDomains } from './guards/domains.ts';
import { openGuards } from './guards/guards.ts';
import { openOfferedBefore } from './guards/offered-before.ts';
import { openProc } from './guards/proc.ts';
import { type Hardware, openHardware } from './hardware/port.ts';
import type { Log } from './log.ts';
import type { StateFiles } from './state-files.ts';
import { openSysfs } from './sysfs/root.ts';

export interface Host {
  /** The host's name in the control plane. */
  readonly thing: string;
  readonly bootId: string;
  readonly checkpoint: Checkpoint;
  readonly drivers: readonly Driver[];
  readonly healthOf: Hardware['healthOf'];
}

export interface HostDeps {
  readonly files: StateFiles;
  readonly clock: Clock;
  readonly log: Log;
}

export async function openHost(config: Config, { files, clock, log }: HostDeps): Promise<Host> {
  const bootId = readBootId(config.bootIdFile);
  const thing = thingName(config.stage, config.hostname);
  const sysfs = openSysfs(config.sysfsRoot);
  const checkpoint = await openCheckpoint({ files, bootId, log });
  const hardware = openHardware({ sysfs, procRoot: config.procRoot, clock });
  const guards = openGuards({
    ...{ sysfs, hardware, proc: openProc(config.procRoot), ownPid: String(process.pid) },
    unguardedDrivers: config.unguardedDrivers,
    offeredBefore: await openOfferedBefore(files, log),
    readDomains: config.domains ? openDomains(config.domains) : noDomains,
  });
  const drivers = config.drivers.map(({ name, create }) =>
    create({
      ...{ sysfs, hardware, guards, thing, bootId, clock, log },
      directory: join(config.stateDirectory, 'drivers', name),
      isPrepared: (uuid) => checkpoint.prepared(uuid) !== undefined,
    }),
  );
  return { thing, bootId, checkpoint, drivers, healthOf: hardware.healthOf };
}
