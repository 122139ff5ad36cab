// Every setting of the control plane, in one validated object. Lambda functions and the local
// system read it from the environment, which `infra/` writes. Secrets come by reference.

import * as z from 'zod';
import {
  type QueueName,
  queues,
  type StreamConsumerName,
  streamConsumers,
} from './contracts/queues/queues.ts';
import { isStage } from './contracts/topics.ts';
import { bindDeadlineSeconds, lastNotificationSeconds } from './domain/host-work/deadlines.ts';
import { type PolicyOverrides, policyRules } from './domain/policy.ts';
import { commaList, flag, httpUrl, json } from './setting-forms.ts';
import { present } from './shapes/derive/present.ts';

const roleName = z.string().min(1).max(255);
/** Rule → roles that are allowed. */
const policyOverrides = z.partialRecord(z.enum(policyRules), z.array(roleName).max(16));
/** How long a revoked token works at most; the default of keystonemiddleware. */
export const tokenCacheSeconds = 300;
/** Role → seconds. */
const tokenSeconds = z.record(roleName, z.int().min(0).max(tokenCacheSeconds));

const environment = z.object({
  /** Prefix of the name of every table, queue, rule and topic. */
  CYBORG_STAGE: z.string().refine(isStage, 'at most 15 lower case letters, digits and hyphens'),
  /** Microversion of requests without the header. Nova never sends one. */
  CYBORG_DEFAULT_MICROVERSION: z.enum(['2.0', '2.1', '2.2', '2.3']).default('2.0'),
  /** Base of `links`; without it the request's own host is used. */
  CYBORG_PUBLIC_ENDPOINT: httpUrl.optional(),
  /**
   * Bind, unbind, delete by instance and delete of a bound ARQ require a service token
   * (CVE-2026-40214). If false, Nova is asked whether the instance belongs to the project
   * instead.
   */
  CYBORG_REQUIRE_SERVICE_TOKEN: flag(true),
  CYBORG_SERVICE_TOKEN_ROLES: commaList(z.string()).prefault('service'),
  /** Overrides the table in domain/policy.ts, e.g. `{"cyborg:device:get_all": ["reader"]}`. */
  CYBORG_POLICY: json(policyOverrides),
  /** How long a token with the role works after its revocation; another token works for 300 s. */
  CYBORG_TOKEN_CACHE_SECONDS: json(tokenSeconds),
  /** `nova`: the form that Nova accepts. `spec`: plural name and profile tag of the Nova spec. */
  CYBORG_EVENT_STYLE: z.enum(['nova', 'spec']).default('nova'),
  /**
   * What the hypervisors of hosts can attach whose agent names no types; empty, as without it, is
   * what the release of Nova on the host attaches (core/domain/arq/attach-types.ts).
   */
  CYBORG_ATTACH_TYPES: commaList(z.enum(['PCI', 'MDEV', 'TEST_PCI']))
    .transform((types) => (types.length > 0 ? types : undefined))
    .optional(),
  /** ARN prefix of the account's things; jobs address things by it. */
  CYBORG_THING_ARN_PREFIX: z
    .string()
    .regex(/^arn:aws[a-z-]*:iot:[a-z0-9-]+:\d{12}:thing\/$/)
    .default('arn:aws:iot:us-east-1:000000000000:thing/'),
  CYBORG_BIND_DEADLINE_SECONDS: z.coerce
    .number()
    .int()
    .min(10)
    .max(lastNotificationSeconds)
    .default(bindDeadlineSeconds),
  /**
   * How long a list of one instance's ARQs waits for its bind when Nova asks. API Gateway answers
   * with an error after 30 s; 0 disables the wait.
   */
  CYBORG_RESOLVE_WAIT_SECONDS: z.coerce.number().int().min(0).max(25).default(25),
  /** Bucket of images for hosts; the default is the stage's name and `-cyborg-staging`. */
  CYBORG_STAGING_BUCKET: z.string().min(3).max(63).optional(),
  /** ARN of the role whose session signs the URLs of images; the default is the function's own. */
  CYBORG_IMAGE_READER_ROLE: z.string().startsWith('arn:').optional(),
  /** Set for S3 endpoints without virtual-hosted-style addresses. */
  CYBORG_S3_PATH_STYLE: flag(false),
  /**
   * Nova can lose the answer to a POST; ARQs that were never bound are deleted after this time.
   */
  CYBORG_UNBOUND_ARQ_MINUTES: z.coerce.number().int().min(1).default(15),
  CYBORG_CLEANINGS_AT_ONCE: z.coerce.number().int().min(1).max(64).default(8),
  /** Most ARQs of one project that are bound to no instance; 0: unlimited. */
  CYBORG_UNBOUND_ARQS_MAX: z.coerce.number().int().min(0).default(1000),
  /** Most devices, and most attach handles, that a host may report. */
  CYBORG_DEVICES_PER_HOST_MAX: z.coerce.number().int().min(1).max(4096).default(256),
  CYBORG_HANDLES_PER_HOST_MAX: z.coerce.number().int().min(1).max(8192).default(4096),
  /** Resource classes of cards that their host cleans before it offers them for the first time. */
  CYBORG_CLEAN_AT_FIRST_SIGHT: commaList(z.string().regex(/^[A-Z0-9_]{1,255}$/)).prefault(''),
  /** Who signs images of components: name → public key of Ed25519, as base64 of 32 bytes. */
  CYBORG_IMAGE_KEYS: json(z.record(z.string().min(1), z.base64().length(44))),
  /** Images of these must be signed. */
  CYBORG_REQUIRE_SIGNATURE: commaList(z.enum(['shell', 'firmware'])).prefault('shell,firmware'),
  /** Model, such as `8086:0b30` → component → the lowest version that may be written. */
  CYBORG_MIN_VERSIONS: json(z.record(z.string(), z.record(z.string(), z.string()))),
  /** How long records of the history are kept. */
  CYBORG_HISTORY_DAYS: z.coerce.number().int().min(1).max(3650).default(400),
  /** Folder of the console's files; the default is `console` beside the function's bundle. */
  CYBORG_CONSOLE_DIRECTORY: z.string().min(1).optional(),

  KEYSTONE_URL: httpUrl,
  /** The URL in 401 answers; the default is KEYSTONE_URL. */
  KEYSTONE_PUBLIC_URL: httpUrl.optional(),
  CYBORG_OS_USERNAME: z.string().default('cyborg'),
  /** The user's password or, if an id is given, the application credential's secret. */
  CYBORG_OS_PASSWORD: z.string(),
  /**
   * The secret in Secrets Manager that holds it instead, and its key if the secret is a JSON
   * object: a rotation reaches running functions.
   */
  CYBORG_OS_PASSWORD_SECRET: z.string().min(1).optional(),
  CYBORG_OS_PASSWORD_FIELD: z.string().min(1).optional(),
  CYBORG_OS_APPLICATION_CREDENTIAL_ID: z.string().min(1).optional(),
  CYBORG_OS_PROJECT_NAME: z.string().default('service'),
  CYBORG_OS_USER_DOMAIN_NAME: z.string().default('Default'),
  CYBORG_OS_PROJECT_DOMAIN_NAME: z.string().default('Default'),
  CYBORG_OS_REGION_NAME: z.string().optional(),
  CYBORG_OS_INTERFACE: z.enum(['internal', 'public', 'admin']).default('internal'),
  /** Overrides the catalog. */
  PLACEMENT_URL: httpUrl.optional(),
  NOVA_URL: httpUrl.optional(),
  GLANCE_URL: httpUrl.optional(),
});

export interface Settings {
  readonly stage: string;
  readonly defaultMicroversion: '2.0' | '2.1' | '2.2' | '2.3';
  readonly publicEndpoint?: string;
  readonly requireServiceToken: boolean;
  readonly serviceTokenRoles: readonly string[];
  readonly policy: PolicyOverrides;
  readonly eventStyle: 'nova' | 'spec';
  readonly attachTypes: readonly ('PCI' | 'MDEV' | 'TEST_PCI')[] | undefined;
  readonly thingArnPrefix: string;
  readonly bindDeadlineSeconds: number;
  readonly resolveWaitSeconds: number;
  readonly unboundArqMinutes: number;
  /** Retries of cleanings that run at once on the hosts of a failure domain; on one host half. */
  readonly cleaningsAtOnce: number;
  readonly unboundArqsMax: number;
  readonly devicesPerHostMax: number;
  readonly handlesPerHostMax: number;
  /** Resource classes. */
  readonly cleanAtFirstSight: readonly string[];
  /** Name → public key, as base64. */
  readonly imageKeys: Readonly<Record<string, string>>;
  readonly requireSignature: readonly ('shell' | 'firmware')[];
  readonly minVersions: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly historyDays: number;
  readonly consoleDirectory?: string;
  readonly staging: {
    readonly bucket: string;
    readonly usesPathStyle: boolean;
    readonly readerRole?: string;
  };
  readonly keystone: {
    readonly url: string;
    readonly publicUrl: string;
    readonly username: string;
    /** The password or the application credential's secret. */
    readonly password: string;
    /** Where the password is, instead. */
    readonly passwordSecret?: { readonly id: string; readonly field?: string };
    readonly applicationCredentialId?: string;
    readonly projectName: string;
    readonly userDomainName: string;
    readonly projectDomainName: string;
    readonly regionName?: string;
    readonly interface: 'internal' | 'public' | 'admin';
    /** Role → seconds for which a validated token with the role is cached. */
    readonly tokenCacheSeconds: Readonly<Record<string, number>>;
  };
  readonly endpoints: {
    readonly placement?: string;
    readonly compute?: string;
    readonly image?: string;
  };
  readonly queueUrls: Readonly<Record<QueueName, string>>;
  /** Dead-letter queues for unreadable messages and records. */
  readonly deadQueueUrls: Readonly<Record<QueueName | StreamConsumerName, string>>;
}

/** Thrown at start, never during a request: the deployment itself is wrong. */
export class SettingsInvalid extends Error {
  override readonly name = 'SettingsInvalid';
}

/** Each has a dead-letter queue. */
export const consumerNames = [...queues.map(({ name }) => name), ...streamConsumers];

/** Versions that a release would put in place, as `function:number`, separated by commas. */
export const newVersionsVariable = 'CYBORG_NEW_VERSIONS';

/** Environment variable that holds a queue's URL, e.g. `NOVA_EVENTS_QUEUE_URL`. */
export function queueUrlVariable(name: QueueName): string {
  return `${name.toUpperCase().replaceAll('-', '_')}_QUEUE_URL`;
}

/** Environment variable of a dead-letter queue's URL, e.g. `CHANGES_DEAD_QUEUE_URL`. */
export function deadQueueUrlVariable(name: QueueName | StreamConsumerName): string {
  return `${name.toUpperCase().replaceAll('-', '_')}_DEAD_QUEUE_URL`;
}

/** @throws SettingsInvalid naming each missing or invalid variable. */
export function loadSettings(variables: Readonly<Record<string, string | undefined>>): Settings {
  const parsed = environment.safeParse(variables);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => {
      const isMissing = variables[String(path[0])] === undefined;
      return `${path.join('.')}: ${isMissing ? 'missing' : message}`;
    });
    throw new SettingsInvalid(`Settings are wrong. ${faults.join('; ')}`);
  }
  const env = parsed.data;
  return {
    stage: env.CYBORG_STAGE,
    defaultMicroversion: env.CYBORG_DEFAULT_MICROVERSION,
    ...(env.CYBORG_PUBLIC_ENDPOINT && { publicEndpoint: env.CYBORG_PUBLIC_ENDPOINT }),
    requireServiceToken: env.CYBORG_REQUIRE_SERVICE_TOKEN,
    serviceTokenRoles: env.CYBORG_SERVICE_TOKEN_ROLES,
    policy: env.CYBORG_POLICY as PolicyOverrides,
    eventStyle: env.CYBORG_EVENT_STYLE,
    attachTypes: env.CYBORG_ATTACH_TYPES,
    thingArnPrefix: env.CYBORG_THING_ARN_PREFIX,
    bindDeadlineSeconds: env.CYBORG_BIND_DEADLINE_SECONDS,
    resolveWaitSeconds: env.CYBORG_RESOLVE_WAIT_SECONDS,
    unboundArqMinutes: env.CYBORG_UNBOUND_ARQ_MINUTES,
    cleaningsAtOnce: env.CYBORG_CLEANINGS_AT_ONCE,
    unboundArqsMax: env.CYBORG_UNBOUND_ARQS_MAX,
    devicesPerHostMax: env.CYBORG_DEVICES_PER_HOST_MAX,
    handlesPerHostMax: env.CYBORG_HANDLES_PER_HOST_MAX,
    cleanAtFirstSight: env.CYBORG_CLEAN_AT_FIRST_SIGHT,
    imageKeys: env.CYBORG_IMAGE_KEYS,
    requireSignature: env.CYBORG_REQUIRE_SIGNATURE,
    minVersions: env.CYBORG_MIN_VERSIONS,
    historyDays: env.CYBORG_HISTORY_DAYS,
    ...(env.CYBORG_CONSOLE_DIRECTORY && { consoleDirectory: env.CYBORG_CONSOLE_DIRECTORY }),
    staging: {
      bucket: env.CYBORG_STAGING_BUCKET ?? `${env.CYBORG_STAGE}-cyborg-staging`,
      usesPathStyle: env.CYBORG_S3_PATH_STYLE,
      ...(env.CYBORG_IMAGE_READER_ROLE && { readerRole: env.CYBORG_IMAGE_READER_ROLE }),
    },
    keystone: {
      url: env.KEYSTONE_URL,
      publicUrl: env.KEYSTONE_PUBLIC_URL ?? env.KEYSTONE_URL,
      username: env.CYBORG_OS_USERNAME,
      password: env.CYBORG_OS_PASSWORD,
      ...(env.CYBORG_OS_PASSWORD_SECRET && {
        passwordSecret: {
          id: env.CYBORG_OS_PASSWORD_SECRET,
          ...present({ field: env.CYBORG_OS_PASSWORD_FIELD }),
        },
      }),
      ...present({ applicationCredentialId: env.CYBORG_OS_APPLICATION_CREDENTIAL_ID }),
      projectName: env.CYBORG_OS_PROJECT_NAME,
      userDomainName: env.CYBORG_OS_USER_DOMAIN_NAME,
      projectDomainName: env.CYBORG_OS_PROJECT_DOMAIN_NAME,
      ...(env.CYBORG_OS_REGION_NAME && { regionName: env.CYBORG_OS_REGION_NAME }),
      interface: env.CYBORG_OS_INTERFACE,
      tokenCacheSeconds: { admin: 60, ...env.CYBORG_TOKEN_CACHE_SECONDS },
    },
    endpoints: present({
      placement: env.PLACEMENT_URL,
      compute: env.NOVA_URL,
      image: env.GLANCE_URL,
    }),
    queueUrls: Object.fromEntries(
      // A function gets only the URLs of the queues that it may use.
      queues.map(({ name }) => [name, variables[queueUrlVariable(name)] ?? '']),
    ) as Record<QueueName, string>,
    deadQueueUrls: Object.fromEntries(
      consumerNames.map((name) => [name, variables[deadQueueUrlVariable(name)] ?? '']),
    ) as Record<QueueName | StreamConsumerName, string>,
  };
}
