// The process: settings, wiring, signals, exit codes.

import { accessSync, constants, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { thingName } from '#core/contracts/topics.ts';
import { runAgent } from './agent.ts';
import { readBootId } from './boot-id.ts';
import { openCheckpoint } from './checkpoint.ts';
import { systemClock } from './clock.ts';
import { type Config, ConfigInvalid, loadConfig, modulesFolder } from './config.ts';
import { createDiscovery } from './discover.ts';
import { createDownloads } from './download.ts';
import { loadOperatorModules } from './drivers/operator-modules.ts';
import { openGuards } from './guards/guards.ts';
import { openOfferedBefore } from './guards/offered-before.ts';
import { openProc } from './guards/proc.ts';
import { openHardware } from './hardware/port.ts';
import { createLog, reasonOf } from './log.ts';
import { keepMemoryLow } from './low-memory.ts';
import { openSession } from './mqtt.ts';
import { recoverHandles } from './recover-handles.ts';
import { createRediscoverRequests } from './rediscover-requests.ts';
import { createJobRunner } from './run-jobs.ts';
import { openSequence } from './sequence.ts';
import { announceReady } from './service-manager.ts';
import { openStateFiles } from './state-files.ts';
import { lockState } from './state-lock.ts';
import { openSysfs } from './sysfs/root.ts';
import { agentVersion } from './version.ts';

const defaultConfigFile = '/etc/cyborg-agent/agent.json';

/** EX_CONFIG of sysexits.h: a supervisor need not restart the agent. */
const exitWrongSettings = 78;

/** Longest wait for running jobs, so that a hanging device cannot keep the process alive. */
const stopMsMax = 5_000;

/** Before systemd's limit for a start (90 s). */
const readyMsMax = 60_000;

/** Longest wait for handles that are prepared again after a boot. */
const recoveryMsMax = 30_000;

async function main(): Promise<void> {
  if (process.argv.includes('--version')) {
    process.stdout.write(`${agentVersion}\n`);
    return;
  }
  keepMemoryLow();
  const config = await readConfig();
  const log = createLog(config.logLevel, (line) => process.stdout.write(line));
  const stop = stopOnSignals();
  const bootId = readBootId(config.bootIdFile);
  const sysfs = openSysfs(config.sysfsRoot);
  const directory = config.stateDirectory;
  await lockState(directory, log);
  const files = openStateFiles(directory);
  const clock = systemClock;
  const thing = thingName(config.stage, config.hostname);
  const random = Math.random;
  const looks = createRediscoverRequests();
  const checkpoint = await openCheckpoint({ files, bootId, log });
  const hardware = openHardware({ sysfs, clock });
  const guards = openGuards({
    ...{ sysfs, hardware, proc: openProc(config.procRoot), ownPid: String(process.pid) },
    offeredBefore: await openOfferedBefore(files, log),
  });
  const drivers = config.drivers.map(({ name, create }) =>
    create({
      ...{ sysfs, hardware, guards, thing, bootId, clock, log },
      directory: join(directory, 'drivers', name),
      isPrepared: (uuid) => checkpoint.prepared(uuid) !== undefined,
    }),
  );
  const jobs = createJobRunner({
    ...{ thing, bootId, drivers, looks, stop, random, clock, log },
    checkpoint,
    downloads: createDownloads(join(directory, 'images'), log, {
      proxy: config.proxy,
      source: config.imageSource,
    }),
  });
  log.info('Starting.', {
    version: agentVersion,
    thing,
    drivers: config.drivers.map(({ name }) => name),
  });
  const discoverNow = createDiscovery({ drivers, healthOf: hardware.healthOf, clock, log });
  // A driver that hangs must not keep the agent from its other devices.
  const settled = new AbortController();
  const recovered = Promise.race([
    recoverHandles({ checkpoint, drivers, log }).finally(() => settled.abort()),
    clock.sleep(recoveryMsMax, settled.signal),
  ]);
  // Without the cloud, too: servers that start with the host need what discovery sets up.
  const first = recovered.then(discoverNow).then(
    () => {},
    (error: unknown) => log.error('First discovery failed', { reason: reasonOf(error) }),
  );
  const isReady = new AbortController();
  first.then(() => isReady.abort());
  // Units that wait for the agent also start if a device hangs.
  clock.sleep(readyMsMax, AbortSignal.any([stop, isReady.signal])).then(() => {
    if (!stop.aborted) announceReady({ environment: process.env, pid: process.pid, log });
  });
  await recovered;
  await runAgent(
    {
      stage: config.stage,
      thing,
      bootId,
      drivers,
      intervalSeconds: config.intervalSeconds,
      discover: async () => {
        await first;
        return await discoverNow();
      },
      sequence: await openSequence({
        files,
        bootId,
        wallMs: clock.wallMs,
        log,
      }),
      jobs,
      looks,
      openSession: (signal) => openSession({ ...config.endpoint, thing, ...config }, signal),
      random,
      clock,
      log,
    },
    stop,
  );
  log.info('Stopped.');
}

async function readConfig(): Promise<Config> {
  const path = process.env.CYBORG_AGENT_CONFIG;
  const file = readIfPresent(path ?? defaultConfigFile);
  if (path && file === undefined) {
    throw new ConfigInvalid(`CYBORG_AGENT_CONFIG: ${path} cannot be read.`);
  }
  const given = { environment: process.env, ...(file !== undefined && { file }) };
  const folder = modulesFolder(given);
  return loadConfig({
    ...given,
    hostname: hostname(),
    isReadable,
    modules: await loadOperatorModules(folder),
    modulesFrom: folder.path,
  });
}

function readIfPresent(path: string): string | undefined {
  return isReadable(path) ? readFileSync(path, 'utf8') : undefined;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first signal stops gracefully; the second one, or five seconds, end the process. */
function stopOnSignals(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(0);
      stop.abort(new Error(signal));
      setTimeout(() => process.exit(0), stopMsMax).unref();
    });
  }
  return stop.signal;
}

main().catch((error: unknown) => {
  process.stderr.write(`cyborg-agent: ${reasonOf(error)}\n`);
  process.exitCode = error instanceof ConfigInvalid ? exitWrongSettings : 1;
});
