import { parseArgs } from 'node:util';
import { access } from '#infra/access.ts';
import type { LatencyOptions } from './latency.ts';
import type { ApiTarget } from './system/api.ts';

export const usage = `npm run bench -- [options]
npm run bench -- cold [function ...]
npm run bench:agent

What one server costs in DynamoDB units and messages, how long Nova's calls take, and how large
providers and hosts change that, in a system of the bench's own, what alternatives and pools cost,
and what operators' reads cost as the cloud grows. Exits 1 where a cost is above its target, where stored ARQs make one of Nova's calls slower by
more than a fifth, or where a choice is above its ratio; other times are printed and not judged.

  --only capacity|latency|large|choices|operators
                            one of the five; routes: every route instead, a call at a time
  --arqs N                  with N other ARQs stored as well, up to 1000000
  --iterations N            servers at each concurrency (200)
  --concurrency N,N         servers at once (1,8)
  --cpu-prof DIR            CPU profile of each process of the system

cold: the bundles of the Lambda functions, how large they are and how long they take to load, and
what weighs in those of Nova's path or the functions named.

bench:agent: CPU and memory of the agent on a host with 512 devices and 4096 virtual functions.

Any server that speaks Cyborg's API, latency only. With --url twice, two servers are measured in
turns and compared; an option that is given once holds for both, else the second is the second's:

  --url URL                 http://host:port/accelerator/v2
  --token T                 a member's
  --service-token S         Nova's
  --host H                  hostname to bind to
  --provider UUID           resource provider there, with a free handle for each server at once
  --profile NAME            device profile; without it one is made (token of an admin) and deleted
  --instance UUID           a server that its Nova knows; concurrency is 1 then
  --i-own-this-server       needed where the address is not loopback`;

export interface Foreign {
  readonly target: ApiTarget;
  readonly hostname: string;
  readonly providerUuid: string;
  readonly profileName?: string;
  readonly instanceUuid?: string;
}

const measuredParts = ['capacity', 'latency', 'large', 'choices', 'operators'] as const;
const parts = [...measuredParts, 'routes'] as const;
type Part = (typeof parts)[number];

export interface BenchOptions {
  readonly parts: readonly Part[];
  /** Numbers of stored ARQs of other servers. */
  readonly arqCounts: readonly number[];
  readonly latency: LatencyOptions;
  readonly profileDirectory?: string;
  /** One server, or two for a comparison. */
  readonly foreign?: readonly Foreign[];
  /** The functions whose bundles are analyzed, instead of everything else. */
  readonly cold?: readonly string[];
}

/** The message is the whole output for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const arqsMax = 1_000_000;
/** The devices of the bench's own system have 64 attach handles in all. */
const concurrencyMax = 64;

/** @throws UsageError */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parse(args);
  if (values.help) throw new UsageError(usage);
  const { only } = values;
  const [command, ...functions] = positionals;
  if (command !== undefined && command !== 'cold') {
    throw new UsageError(`unknown benchmark: ${command}\n\n${usage}`);
  }
  const unknown = functions.find((name) => !(name in access));
  if (unknown)
    throw new UsageError(
      `unknown function: ${unknown}; known are ${Object.keys(access).join(', ')}.`,
    );
  const part = parts.find((name) => name === only);
  if (only !== undefined && part === undefined) {
    throw new UsageError(`--only must be one of ${parts.join(', ')}.`);
  }
  const arqs = values.arqs === undefined ? [] : [numberIn('--arqs', values.arqs, 0, arqsMax)];
  const foreign = values.url === undefined ? undefined : readForeigners(values, values.url);
  const concurrencies = foreign?.some(({ instanceUuid }) => instanceUuid !== undefined)
    ? [1]
    : values.concurrency
        .split(',')
        .map((text) => numberIn('--concurrency', text, 1, concurrencyMax));
  return {
    parts: part ? [part] : measuredParts,
    arqCounts: [...new Set([0, 1000, ...arqs])],
    latency: {
      iterations: numberIn('--iterations', values.iterations, 1, 100_000),
      concurrencies,
    },
    ...(values['cpu-prof'] !== undefined && { profileDirectory: values['cpu-prof'] }),
    ...(foreign && { foreign }),
    ...(command === 'cold' && { cold: functions }),
  };
}

type Values = ReturnType<typeof parse>['values'];

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        only: { type: 'string' },
        arqs: { type: 'string' },
        iterations: { type: 'string', default: '200' },
        concurrency: { type: 'string', default: '1,8' },
        'cpu-prof': { type: 'string' },
        url: { type: 'string', multiple: true },
        token: { type: 'string', multiple: true },
        'service-token': { type: 'string', multiple: true },
        host: { type: 'string', multiple: true },
        provider: { type: 'string', multiple: true },
        profile: { type: 'string', multiple: true },
        instance: { type: 'string', multiple: true },
        'i-own-this-server': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`);
  }
}

function numberIn(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new UsageError(`${name} must be an integer from ${least} to ${most}, not ${text}.`);
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

const serversMax = 2;
const perServer = [
  'url',
  'token',
  'service-token',
  'host',
  'provider',
  'profile',
  'instance',
] as const;

/** One entry for each URL, with its own value of each option that was given twice. */
function readForeigners(values: Values, urls: readonly string[]): Foreign[] {
  if (urls.length > serversMax) throw new UsageError('--url may be given once or twice.');
  const odd = perServer.find((name) => (values[name]?.length ?? 1) > urls.length);
  if (odd) throw new UsageError(`--${odd} may be given once for each --url.`);
  return urls.map((url, at) => {
    const own = (name: (typeof perServer)[number]) => values[name]?.[at] ?? values[name]?.[0];
    return readForeign(url, own, values['i-own-this-server']);
  });
}

function readForeign(
  given: string,
  own: (name: (typeof perServer)[number]) => string | undefined,
  isOwned: boolean,
): Foreign {
  const [token, hostname, providerUuid] = [own('token'), own('host'), own('provider')];
  const [serviceToken, profileName, instanceUuid] = [
    own('service-token'),
    own('profile'),
    own('instance'),
  ];
  if (token === undefined || hostname === undefined || providerUuid === undefined) {
    throw new UsageError('--url needs --token, --host and --provider, too.');
  }
  const url = given.replace(/\/+$/, '');
  if (!URL.canParse(url)) throw new UsageError(`--url is not a valid URL: ${url}.`);
  // A load test without the owner's consent is an attack.
  if (!loopback.test(new URL(url).hostname) && !isOwned) {
    throw new UsageError(`${url} is not on this machine: confirm with --i-own-this-server.`);
  }
  return {
    target: { url, token, ...(serviceToken !== undefined && { serviceToken }) },
    hostname,
    providerUuid,
    ...(profileName !== undefined && { profileName }),
    ...(instanceUuid !== undefined && { instanceUuid }),
  };
}
