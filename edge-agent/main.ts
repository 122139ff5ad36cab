// The process: command, settings, wiring, signals, exit codes.

import { join } from 'node:path';
import type { CardsMessage } from '#core/contracts/jobs/work-message.ts';
import { inventoryTopic } from '#core/contracts/topics.ts';
import { runAgent } from './agent.ts';
import { openSession } from './broker/mqtt.ts';
import { systemClock } from './clock.ts';
import { ArgumentsInvalid, type KeyCommand, readCommand, usage } from './command-line.ts';
import { type Config, ConfigInvalid } from './config/config.ts';
import { hasSettings, readConfig, readGivenConfig } from './config/read-config.ts';
import { watchVendorTools } from './faults/tools/vendor-tools.ts';
import { openFaults, watchFaults } from './faults/watch-faults.ts';
import { openProc } from './guards/proc.ts';
import { recoverHandles } from './handles/recover-handles.ts';
import { createJobRunner } from './handles/run-jobs.ts';
import { runHostCommand } from './host-commands.ts';
import { makeKey } from './identity/make-key.ts';
import { createRenewal } from './identity/renewal.ts';
import { openStoredIdentity } from './identity/stored-identity.ts';
import { createDownloads } from './images/download.ts';
import { createLog, reasonOf } from './log.ts';
import { keepMemoryLow } from './process/low-memory.ts';
import { openHost } from './process/open-host.ts';
import { announceReady } from './process/service-manager.ts';
import { printHost } from './record/host-record.ts';
import { recordHost } from './record/record-host.ts';
import { createAgentMetrics, serveMetrics } from './report/agent-metrics.ts';
import { createDiscovery } from './report/discover.ts';
import { createRediscoverRequests } from './report/rediscover-requests.ts';
import { settingsForAll } from './self-test/offer-all.ts';
import { openSequence } from './state/sequence.ts';
import { openStateFiles } from './state/state-files.ts';
import { lockState } from './state/state-lock.ts';
import { openSysfs } from './sysfs/root.ts';
import { agentVersion } from './version.ts';

/** EX_CONFIG of sysexits.h: a supervisor need not restart the agent. */
const exitWrongSettings = 78;
const exitWrongArguments = 2;

/** Longest wait for running jobs, so that a hanging device cannot keep the process alive. */
const stopMsMax = 5_000;

/** Before systemd's limit for a start (90 s). */
const readyMsMax = 60_000;

/** Longest wait for handles that are prepared again after a boot. */
const recoveryMsMax = 30_000;

async function main(): Promise<void> {
  const command = readCommand(process.argv.slice(2));
  if (command.name === 'key') return await printNewKey(command);
  const { name } = command;
  if (name === 'version') return print(agentVersion);
  if (name === 'help') return print(usage.trimEnd());
  if (name === 'record') {
    return print(printHost(recordHost(openSysfs('/sys'), openProc('/proc'))).trimEnd());
  }
  keepMemoryLow();
  const config =
    command.report !== undefined && !hasSettings() ? configOfAll() : await readConfig();
  if (name === 'run') return await run(config);
  // Ends the process: an operator's driver may have opened what would keep it.
  process.exit(await runHostCommand({ ...command, name }, config, { print, complain }));
}

async function printNewKey({ thing, folder }: KeyCommand): Promise<void> {
  const { requestPath, fingerprint } = await makeKey(folder, thing);
  print(`${requestPath} is the request of ${thing}, and is no secret.`);
  print(`SHA-256 of its public key: ${fingerprint}`);
}

/** @throws Error for a host without a device that a driver knows */
function configOfAll(): Config {
  const { CYBORG_AGENT_SYSFS_ROOT: sysfs, CYBORG_AGENT_PROC_ROOT: proc } = process.env;
  const settings = settingsForAll(
    recordHost(openSysfs(sysfs ?? '/sys'), openProc(proc ?? '/proc')),
  );
  if (settings.drivers.length > 0) return readGivenConfig(settings);
  throw new Error('This host has no accelerator, NVMe device or network card to report.');
}

async function run(config: Config): Promise<void> {
  const log = createLog(config.logLevel, (line) => process.stdout.write(line));
  const stop = stopOnSignals();
  const directory = config.stateDirectory;
  await lockState(directory, log);
  const files = openStateFiles(directory);
  const clock = systemClock;
  const random = Math.random;
  const looks = createRediscoverRequests();
  const host = await openHost(config, { files, clock, log, hasCloud: true });
  const { thing, bootId, checkpoint, components, drivers, vendorTools, links, gates, failures } =
    host;
  const { healthOf, novaVersions, novaDevices, lookAtServers } = host;
  const onCards = (message: CardsMessage) =>
    void host.learnCards(message).then(
      () => looks.ask('changes'),
      (error: unknown) => log.error('Cards not kept', { reason: reasonOf(error) }),
    );
  const jobs = createJobRunner({
    onCards,
    stage: config.stage,
    thing,
    bootId,
    drivers,
    looks,
    stop,
    random,
    clock,
    log,
    checkpoint,
    components,
    gates,
    failures,
    downloads: createDownloads(join(directory, 'images'), log, {
      proxy: config.proxy,
      source: config.imageSource,
    }),
  });
  log.info('Agent starting', {
    version: agentVersion,
    thing,
    drivers: config.drivers.map(({ name }) => name),
  });
  const { metricsPort } = config;
  const metrics = createAgentMetrics({
    drivers: drivers.map(({ name }) => name),
    skew: jobs.skew,
    readings: vendorTools.readings,
    clock,
  });
  if (metricsPort !== undefined) serveMetrics(metricsPort, metrics, { log, stop });
  const faults = await openFaults(config, { files, bootId, clock, log });
  const changed = () => void looks.ask('changes');
  if (faults) watchFaults(faults, clock, stop, changed);
  if (config.usesVendorTools) watchVendorTools(vendorTools, clock, stop, changed);
  const discover = createDiscovery({
    drivers,
    healthOf,
    components,
    faults: [
      ...(faults ? [faults] : []),
      ...(config.usesVendorTools ? [vendorTools] : []),
      failures,
      links,
    ],
    describeCards: host.describeCards,
    gates,
    novaVersions,
    novaDevices,
    lookAtServers,
    clock,
    log,
  });
  const discoverNow = async () => {
    const discovery = await discover();
    metrics.discovered(discovery);
    return discovery;
  };
  const renewal = createRenewal({
    ...config,
    thing,
    stored: openStoredIdentity(files, config, log),
    clock,
    random,
    log,
  });
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
      attachTypes: config.attachTypes,
      failureDomain: config.failureDomain,
      drivers,
      intervalSeconds: config.intervalSeconds,
      discover: async () => {
        await first;
        return await discoverNow();
      },
      skew: jobs.skew,
      asksCards: host.asksCards,
      sequence: await openSequence({
        files,
        bootId,
        wallMs: clock.wallMs,
        log,
      }),
      jobs,
      looks,
      openSession: async (signal) => {
        const broker = { ...config.endpoint, thing, ...config };
        const session = await renewal.open(
          (identity) => openSession({ ...broker, identity }, signal),
          signal,
        );
        return metrics.watch(session, inventoryTopic(config.stage, thing));
      },
      random,
      clock,
      log,
    },
    stop,
  );
  log.info('Agent stopped');
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

function print(line: string): void {
  process.stdout.write(`${printable(line)}\n`);
}

function complain(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

/** Names come from the kernel, from devices and from an operator's driver. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e\n]/g, '?');
}

function toExitCode(error: unknown): number {
  if (error instanceof ArgumentsInvalid) return exitWrongArguments;
  return error instanceof ConfigInvalid ? exitWrongSettings : 1;
}

main().catch((error: unknown) => {
  complain(`cyborg-agent: ${reasonOf(error)}`);
  process.exitCode = toExitCode(error);
});
