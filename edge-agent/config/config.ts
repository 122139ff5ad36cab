// Every setting of the agent, from a JSON file and from the environment, which has precedence.
// Errors are reported before anything starts, one sentence per setting.

import * as z from 'zod';
import type {
  ConfiguredDriver,
  DriverModule,
  SettingFault,
} from '#agent/drivers/contract/define-driver.ts';
import { ownDrivers } from '#agent/drivers/index.ts';
import { kernelDriverName } from '#agent/guards/kernel-drivers.ts';
import { faultOfSource } from '#agent/images/image-source.ts';
import { logLevels } from '#agent/log.ts';
import { isHostname, isStage } from '#core/contracts/topics.ts';
import type { attachType } from '#core/shapes/attach-handle.ts';
import { present } from '#core/shapes/derive/present.ts';
import { failureDomain } from '#core/shapes/host.ts';
import {
  absolutePath,
  commaList,
  days,
  driverList,
  endpoint,
  interval,
  jsonText,
  pathList,
  port,
  readDriverSettings,
  typeList,
} from './forms.ts';
import { type GateSettings, gateSettings } from './gate-settings.ts';
import { chooseHostFiles, type HostFiles } from './host-files.ts';

const prefix = 'CYBORG_AGENT_';

/** The agent cannot start with these settings; the message says what to change. */
export class ConfigInvalid extends Error {
  override readonly name = 'ConfigInvalid';
}

const settings = z.strictObject({
  HOSTNAME: z.string().refine(isHostname, 'must be the name that Nova has for this compute node'),
  STAGE: z.string().refine(isStage, 'must be at most 15 lower case letters, digits and hyphens'),
  ENDPOINT: endpoint,
  CERTIFICATE: absolutePath,
  KEY: absolutePath,
  CA: absolutePath.optional(),
  PROXY: z.url({ protocol: /^http$/, error: 'must be http://host:port' }).optional(),
  IMAGE_SOURCE: z
    .string()
    .superRefine((text, context) => {
      const message = faultOfSource(text);
      if (message) context.addIssue({ code: 'custom', message });
    })
    .optional(),
  DRIVERS: driverList,
  ATTACH_TYPES: typeList.optional(),
  FAILURE_DOMAIN: failureDomain.optional(),
  INTERVAL_SECONDS: interval.default(60),
  SYSFS_ROOT: absolutePath.default('/sys'),
  PROC_ROOT: absolutePath.default('/proc'),
  STATE_DIR: absolutePath.default('/var/lib/cyborg-agent'),
  BOOT_ID_FILE: absolutePath.default('/proc/sys/kernel/random/boot_id'),
  DRIVERS_DIR: absolutePath.optional(),
  DOMAINS_DIR: absolutePath.optional(),
  KERNEL_LOG: absolutePath.optional(),
  LIVE_DOMAINS_DIR: absolutePath.optional(),
  NOVA_CONF: pathList.optional(),
  VENDOR_TOOLS: z.enum(['on', 'off'], 'must be on or off').optional(),
  UNGUARDED_KERNEL_DRIVERS: commaList.pipe(z.array(kernelDriverName)).default([]),
  GATES: gateSettings.default({}),
  METRICS_PORT: port.optional(),
  ROTATE_AFTER_DAYS: days.optional(),
  LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
});

export interface Config extends HostFiles {
  readonly hostname: string;
  readonly stage: string;
  readonly endpoint: { readonly host: string; readonly port: number };
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly authorityFile?: string;
  readonly proxy?: string;
  readonly imageSource?: string;
  readonly drivers: readonly ConfiguredDriver[];
  /** What the hypervisor takes; absent: what the deployment says. */
  readonly attachTypes?: readonly z.infer<typeof attachType>[];
  /** What fails together with other hosts, such as a rack. */
  readonly failureDomain?: string;
  readonly intervalSeconds: number;
  readonly sysfsRoot: string;
  readonly procRoot: string;
  readonly stateDirectory: string;
  readonly bootIdFile: string;
  readonly unguardedDrivers: readonly string[];
  /** On loopback; absent: nowhere. */
  readonly metricsPort?: number;
  readonly rotateAfterDays?: number;
  /** Programs that judge a device after its cleaning, by resource class or driver. */
  readonly gates: Readonly<Record<string, GateSettings>>;
  readonly logLevel: (typeof logLevels)[number];
}

interface ConfigSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Text of the settings file, if there is one; its keys are the names of settings in lower case.
   */
  readonly file?: string;
  /** Hostname according to the operating system. */
  readonly hostname: string;
  readonly isReadable: (path: string) => boolean;
  /** Drivers of the operator, beside the agent's own. */
  readonly modules?: readonly DriverModule[];
  /** Where they come from; completes the sentence about an unknown driver. */
  readonly modulesFrom?: string;
}

/** The folder of the operator's drivers, which are loaded before all settings are checked. */
export function modulesFolder(sources: Pick<ConfigSources, 'environment' | 'file'>) {
  const folder = { ...fromFile(sources), ...fromEnvironment(sources) }.DRIVERS_DIR;
  const named = settings.shape.DRIVERS_DIR.safeParse(folder);
  if (!named.success) throw new ConfigInvalid(`${prefix}DRIVERS_DIR: must be an absolute path.`);
  const path = named.data ?? '/etc/cyborg-agent/drivers.d';
  return { path, isNamed: named.data !== undefined };
}

/** Whether a driver of that name would take the place of one of the agent's settings. */
export function isSettingName(name: string): boolean {
  const key = name.toUpperCase();
  return Object.hasOwn(settings.shape, key) || key === 'CONFIG';
}

/** @throws ConfigInvalid with one sentence for each missing or invalid setting */
export function loadConfig(sources: ConfigSources): Config {
  const environment: Texts = {
    HOSTNAME: sources.hostname,
    ...fromFile(sources),
    ...fromEnvironment(sources),
  };
  const modules = [...ownDrivers, ...(sources.modules ?? [])];
  const named = driverList.safeParse(environment.DRIVERS);
  const names = named.data ?? [];
  const [ofDrivers, ofAgent] = parted(
    environment,
    (key) =>
      modules.some((each) => settingKey(each) === key) ||
      names.some((name) => name.toUpperCase() === key && !isSettingName(name)),
  );
  const parsed = settings.safeParse(ofAgent);
  const { drivers, faults: ofSettings } = configured(names, modules, {
    texts: ofDrivers,
    from: sources.modulesFrom,
  });
  const faults = [
    ...(parsed.error?.issues.map((issue) => sentence(issue, environment)) ?? []),
    ...(parsed.success ? unreadable(parsed.data, sources) : []),
    ...(named.success ? ofSettings : []),
  ];
  if (!parsed.success || faults.length > 0) throw new ConfigInvalid(faults.join(' '));
  return {
    hostname: parsed.data.HOSTNAME,
    stage: parsed.data.STAGE,
    endpoint: parsed.data.ENDPOINT,
    certificateFile: parsed.data.CERTIFICATE,
    keyFile: parsed.data.KEY,
    ...(parsed.data.CA && { authorityFile: parsed.data.CA }),
    ...(parsed.data.PROXY && { proxy: parsed.data.PROXY }),
    ...(parsed.data.IMAGE_SOURCE && { imageSource: parsed.data.IMAGE_SOURCE }),
    drivers,
    ...present({
      attachTypes: parsed.data.ATTACH_TYPES,
      failureDomain: parsed.data.FAILURE_DOMAIN,
    }),
    intervalSeconds: parsed.data.INTERVAL_SECONDS,
    sysfsRoot: parsed.data.SYSFS_ROOT,
    procRoot: parsed.data.PROC_ROOT,
    stateDirectory: parsed.data.STATE_DIR,
    bootIdFile: parsed.data.BOOT_ID_FILE,
    ...chooseHostFiles(parsed.data),
    unguardedDrivers: parsed.data.UNGUARDED_KERNEL_DRIVERS,
    ...present({ metricsPort: parsed.data.METRICS_PORT }),
    ...present({ rotateAfterDays: parsed.data.ROTATE_AFTER_DAYS }),
    gates: parsed.data.GATES,
    logLevel: parsed.data.LOG_LEVEL,
  };
}

function fromEnvironment(sources: Pick<ConfigSources, 'environment'>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(sources.environment)
      // CONFIG names the settings file. An empty value counts as unset.
      .filter(([name, value]) => name.startsWith(prefix) && name !== `${prefix}CONFIG` && value)
      .map(([name, value]) => [name.slice(prefix.length), value]),
  );
}

function fromFile({ file }: Pick<ConfigSources, 'file'>): Record<string, unknown> {
  if (file === undefined) return {};
  const parsed = jsonText.pipe(z.record(z.string(), z.unknown())).safeParse(file);
  if (!parsed.success) throw new ConfigInvalid('The settings file must be one JSON object.');
  return Object.fromEntries(
    Object.entries(parsed.data).map(([key, value]) => [key.toUpperCase(), value]),
  );
}

function unreadable(values: z.infer<typeof settings>, { isReadable }: ConfigSources): string[] {
  return (['CERTIFICATE', 'KEY', 'CA'] as const)
    .map((name) => [name, values[name]] as const)
    .filter(([, path]) => path !== undefined && !isReadable(path))
    .map(([name, path]) => `${prefix}${name}: ${path} cannot be read.`);
}

function settingKey({ name }: DriverModule): string {
  return name.toUpperCase();
}

type Texts = Readonly<Record<string, unknown>>;

function parted(texts: Texts, isFirst: (key: string) => boolean): [Texts, Texts] {
  const entries = Object.entries(texts);
  return [
    Object.fromEntries(entries.filter(([key]) => isFirst(key))),
    Object.fromEntries(entries.filter(([key]) => !isFirst(key))),
  ];
}

/** The named drivers with their settings. */
function configured(
  names: readonly string[],
  modules: readonly DriverModule[],
  { texts, from }: { readonly texts: Texts; readonly from: string | undefined },
) {
  const valid = modules.map(({ name }) => name).join(', ');
  const drivers: ConfiguredDriver[] = [];
  const faults: string[] = [];
  if (names.length === 0) faults.push(`${prefix}DRIVERS: name at least one of ${valid}.`);
  for (const name of names) {
    const module = modules.find((each) => each.name === name);
    if (!module) {
      const unknown = `${prefix}DRIVERS: unknown driver ${JSON.stringify(name)}; valid are ${valid}`;
      faults.push(from ? `${unknown}, and the operator's drivers in ${from}.` : `${unknown}.`);
      continue;
    }
    const read = readDriverSettings(texts[settingKey(module)]);
    const made =
      'fault' in read
        ? { faults: [{ path: [], message: read.fault }] }
        : module.configure(read.settings);
    if ('create' in made) drivers.push(made);
    else faults.push(...made.faults.map((fault) => driverSentence(module, fault)));
  }
  for (const module of modules) {
    if (texts[settingKey(module)] === undefined || names.includes(module.name)) continue;
    faults.push(
      `${prefix}${settingKey(module)} has no effect: ${prefix}DRIVERS lacks ${module.name}.`,
    );
  }
  return { drivers, faults };
}

function driverSentence(module: DriverModule, { path, message }: SettingFault): string {
  const place = path.length > 0 ? ` (at ${path.join('.')})` : '';
  // Some messages end with the dots of CUSTOM_...
  return `${prefix}${settingKey(module)}${place}: ${message}${message.endsWith('.') ? '' : '.'}`;
}

function sentence(issue: z.core.$ZodIssue, texts: Texts): string {
  const [name, ...rest] = issue.path.map(String);
  if (issue.code === 'unrecognized_keys' && name === undefined) {
    const unknown = issue.keys.map((key) => `${prefix}${key}`).join(', ');
    const allowed = Object.keys(settings.shape).join(', ').toLowerCase();
    return `Unknown setting: ${unknown}; allowed are ${allowed}, and the names of drivers.`;
  }
  if (texts[name ?? ''] === undefined) return `${prefix}${name} is missing.`;
  const place = rest.length > 0 ? ` (at ${rest.join('.')})` : '';
  return `${prefix}${name}${place}: ${issue.message}.`;
}
