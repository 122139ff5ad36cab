// Opens the host: what the drivers work with, and the drivers themselves. The same for the agent
// and for the commands that look at the host without it.

import { join } from 'node:path';
import type { Clock } from '#agent/clock.ts';
import type { Config } from '#agent/config/config.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { createLinkFaults, type LinkFaults } from '#agent/faults/link-faults.ts';
import { openToolRecords } from '#agent/faults/tools/tool-records.ts';
import { createVendorTools, type VendorTools } from '#agent/faults/tools/vendor-tools.ts';
import { createGates, type Gates } from '#agent/gates/gates.ts';
import { openGuards } from '#agent/guards/guards.ts';
import { noDomains, openDomains } from '#agent/guards/libvirt/domains.ts';
import { openOfferedBefore } from '#agent/guards/offered-before.ts';
import { openProc } from '#agent/guards/proc.ts';
import {
  createFailedPreparations,
  type FailedPreparations,
} from '#agent/handles/failed-preparations.ts';
import { preparedBy } from '#agent/handles/prepare-handle.ts';
import { type Hardware, openHardware } from '#agent/hardware/port.ts';
import type { Log } from '#agent/log.ts';
import { type LookAtServers, openSeenAttachments } from '#agent/servers/seen-attachments.ts';
import { readBootId } from '#agent/state/boot-id.ts';
import { type Checkpoint, openCheckpoint } from '#agent/state/checkpoint.ts';
import { type ComponentRecords, openComponentRecords } from '#agent/state/component-records.ts';
import { openConfirmations } from '#agent/state/confirmations.ts';
import type { StateFiles } from '#agent/state/state-files.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import type { CardsMessage } from '#core/contracts/jobs/work-message.ts';
import { thingName } from '#core/contracts/topics.ts';
import { createDescribeCards, type DescribeCards } from './describe-cards.ts';
import { createNovaDevices, type NovaDevices } from './nova-devices.ts';
import { readNovaVersions } from './nova-versions.ts';

interface Host {
  /** The host's name in the control plane. */
  readonly thing: string;
  readonly bootId: string;
  readonly checkpoint: Checkpoint;
  readonly components: ComponentRecords;
  readonly drivers: readonly Driver[];
  readonly healthOf: Hardware['healthOf'];
  readonly gates: Gates;
  readonly novaVersions: () => readonly string[];
  readonly novaDevices: () => NovaDevices;
  readonly lookAtServers: LookAtServers;
  readonly vendorTools: VendorTools;
  readonly links: LinkFaults;
  readonly failures: FailedPreparations;
  readonly describeCards: DescribeCards;
  /** Whether the control plane must say which cards were offered before. */
  readonly asksCards: () => boolean;
  readonly learnCards: (message: CardsMessage) => Promise<void>;
}

interface HostDeps {
  readonly files: StateFiles;
  readonly clock: Clock;
  readonly log: Log;
  /** The agent reports to a control plane, which its commands do not. */
  readonly hasCloud?: boolean;
}

export async function openHost(
  config: Config,
  { files, clock, log, hasCloud = false }: HostDeps,
): Promise<Host> {
  const bootId = readBootId(config.bootIdFile);
  const thing = thingName(config.stage, config.hostname);
  const sysfs = openSysfs(config.sysfsRoot);
  const checkpoint = await openCheckpoint({ files, bootId, log });
  const components = await openComponentRecords(files, log);
  const hardware = openHardware({ sysfs, procRoot: config.procRoot, clock });
  const proc = openProc(config.procRoot);
  const readDomains = config.domains ? openDomains(config.domains) : noDomains;
  const confirmations = openConfirmations(files, log);
  const offeredBefore = await openOfferedBefore(files, log);
  const guards = openGuards({
    sysfs,
    hardware,
    proc,
    ownPid: String(process.pid),
    unguardedDrivers: config.unguardedDrivers,
    offeredBefore,
    hasCloud,
    readDomains,
    wallMs: clock.wallMs,
  });
  const lookAtServers = await openSeenAttachments({
    files,
    readDefined: readDomains,
    readLive: config.liveDomains ? openDomains(config.liveDomains) : noDomains,
    marks: () => ({ ...checkpoint.lost(), ...checkpoint.marks() }),
    wallMs: clock.wallMs,
    log,
  });
  const drivers = config.drivers.map(({ name, create }) =>
    create({
      sysfs,
      hardware,
      guards,
      thing,
      bootId,
      clock,
      log,
      directory: join(config.stateDirectory, 'drivers', name),
      isPrepared: (uuid) => checkpoint.prepared(uuid) !== undefined,
      prepared: () => preparedBy(checkpoint, name),
    }),
  );
  const gates = createGates({
    settings: config.gates,
    sysfs,
    // Processes of this host, also in a trial.
    proc: openProc('/proc'),
    clock,
    log,
  });
  const novaVersions = () => readNovaVersions(proc);
  const novaDevices = createNovaDevices(config.novaFiles ?? { paths: [], isNamed: false }, sysfs);
  const { healthOf } = hardware;
  const vendorTools = createVendorTools({
    sysfs,
    hardware,
    records: await openToolRecords(files, log),
    confirmations,
    clock,
    log,
  });
  const links = createLinkFaults({ sysfs, hardware, clock, log });
  const describeCards = createDescribeCards({ sysfs, guards, confirmations });
  const failures = createFailedPreparations(clock, confirmations, log);
  const sources = { vendorTools, links, failures, describeCards };
  const learnCards = async ({ boot_id: answered, cards }: CardsMessage) => {
    if (answered !== bootId || !guards.asksCards()) return;
    await offeredBefore.learnCards(new Map(Object.entries(cards)));
    log.info('Cards learnt', { cards: Object.keys(cards).length });
  };
  const { asksCards } = guards;
  const about = { asksCards, learnCards, thing, bootId, checkpoint, components, ...sources };
  return { ...about, drivers, healthOf, gates, novaVersions, novaDevices, lookAtServers };
}
