// The places of one local system: its directory, ports and stage. Every process of the system gets
// the same layout and finds the others by it.

import { join } from 'node:path';
import { freePort, PortTaken } from '#local/ports.ts';
import { environmentFor } from './environment.ts';

export const portNames = [
  'dynamodb',
  'sqs',
  'mqtt',
  'iot',
  's3',
  'events',
  'keystone',
  'placement',
  'nova',
  'glance',
  'api',
] as const;
export type PortName = (typeof portNames)[number];

export interface Layout {
  readonly stage: string;
  readonly directory: string;
  readonly ports: Readonly<Record<PortName, number>>;
  readonly logDirectory: string;
  /** Engines and fakes that are not started, because a variable names another one. */
  readonly replaced: readonly PortName[];
}

export const host = '127.0.0.1';

/** The port of the real service, if it has one that browsers do not refuse. */
export const usualPorts: Readonly<Record<PortName, number>> = {
  // Browsers refuse Cyborg's own, 6666, and the console has the API's port.
  api: 8666,
  keystone: 5000,
  placement: 8778,
  nova: 8774,
  glance: 9292,
  dynamodb: 8000,
  sqs: 9324,
  mqtt: 8883,
  iot: 9325,
  s3: 9326,
  events: 9327,
};

/** The variable that replaces an engine or fake by another service. */
export const replacedBy: Readonly<Partial<Record<PortName, string>>> = {
  dynamodb: 'AWS_ENDPOINT_URL_DYNAMODB',
  sqs: 'AWS_ENDPOINT_URL_SQS',
  s3: 'AWS_ENDPOINT_URL_S3',
  events: 'AWS_ENDPOINT_URL_EVENTBRIDGE',
  keystone: 'KEYSTONE_URL',
  placement: 'PLACEMENT_URL',
  nova: 'NOVA_URL',
  glance: 'GLANCE_URL',
};

/** The variable that moves a part to another port. */
export function portVariable(name: PortName): string {
  return `LOCAL_${name.toUpperCase()}_PORT`;
}

/** The message is one line for the user. */
class PortsTaken extends Error {
  override readonly name = 'PortsTaken';

  constructor(taken: readonly (readonly [variable: string, port: number])[]) {
    const named = taken.map(([variable, port]) => `${port} (${variable})`).join(', ');
    super(
      `In use by other programs: ${taken.length === 1 ? 'port' : 'ports'} ${named}. ` +
        'Stop those programs, set the variables in brackets to other ports, or move all ports with ' +
        '`npm start -- --port-base 17000`.',
    );
  }
}

export const portBaseMax = 65_535 - portNames.length + 1;

/** @throws PortsTaken naming all ports in use, and the variables that choose others */
export async function chooseLayout(options: {
  readonly stage: string;
  readonly directory: string;
  /** Use any free ports. */
  readonly anyPorts: boolean;
  /** The first of consecutive ports, one per name, instead of the usual ones. */
  readonly portBase?: number | undefined;
}): Promise<Layout> {
  const ports: Partial<Record<PortName, number>> = {};
  const taken: [variable: string, port: number][] = [];
  const replaced = portNames.filter((name) => process.env[replacedBy[name] ?? ''] !== undefined);
  for (const [at, name] of portNames.entries()) {
    const variable = portVariable(name);
    const usual = options.portBase === undefined ? usualPorts[name] : options.portBase + at;
    const port = options.anyPorts ? 0 : portOf(variable, usual);
    // A replaced part needs no port.
    const isFree = !options.anyPorts && replaced.includes(name);
    try {
      ports[name] = isFree ? port : await freePort({ host, port, variable });
    } catch (error) {
      if (!(error instanceof PortTaken)) throw error;
      taken.push([variable, port]);
    }
  }
  if (taken.length > 0) throw new PortsTaken(taken);
  return {
    stage: options.stage,
    directory: options.directory,
    logDirectory: join(options.directory, 'logs'),
    ports: ports as Record<PortName, number>,
    replaced,
  };
}

function portOf(variable: string, usual: number): number {
  const text = process.env[variable] ?? String(usual);
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65535) return port;
  throw new Error(`${variable} must be a port from 1 to 65535, not ${JSON.stringify(text)}.`);
}

export function urlOf(layout: Layout, name: PortName): string {
  return `${name === 'mqtt' ? 'mqtts' : 'http'}://${host}:${layout.ports[name]}`;
}

/**
 * The environment of the parts' processes. The caller's environment takes precedence: so a
 * variable replaces each fake and each engine by a real service.
 */
export function environmentOf(layout: Layout): Record<string, string> {
  const variables = Object.entries(process.env).filter(([, value]) => value !== undefined);
  const defaults = { ...settingsOf(layout), CYBORG_CONSOLE_DIRECTORY: consoleDirectory(layout) };
  return { ...defaults, ...Object.fromEntries(variables as [string, string][]) };
}

/** The console's files, for the function that serves them. */
export function consoleDirectory(layout: Layout): string {
  return join(layout.directory, 'console');
}

/** The same without the caller's environment: operators' commands get it, too. */
export function settingsOf(layout: Layout): Readonly<Record<string, string>> {
  // Another service has other addresses, too: the streams are where the tables are.
  const engineOf = (name: PortName) => process.env[replacedBy[name] ?? ''] ?? urlOf(layout, name);
  return environmentFor(layout.stage, {
    dynamoDb: engineOf('dynamodb'),
    sqs: engineOf('sqs'),
    iot: urlOf(layout, 'iot'),
    s3: engineOf('s3'),
    events: engineOf('events'),
    keystone: `${urlOf(layout, 'keystone')}/v3`,
  });
}
