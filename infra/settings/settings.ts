// Settings of one deployment, from the context in cdk.json or `-c name=value`, or from an app's
// code. Settings of the functions are passed on unchanged; core/settings.ts defines them.

import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import * as z from 'zod';
import { loadSettings, SettingsInvalid } from '#core/settings.ts';
import { present } from '#core/shapes/derive/present.ts';
import * as choices from './choices.ts';
import {
  faultsOfQuota,
  provisionedConcurrencySchema,
  reservedConcurrencySchema,
} from './concurrency.ts';
import { contradictionsIn, unknownSettings } from './contradictions.ts';
import type { Domain } from './domain.ts';
import { idList, keyArn, matching, perSecond } from './forms.ts';
import type {
  CyborgSettings,
  ProvisionedConcurrency,
  ReservedConcurrency,
} from './given-settings.ts';
import type { Network } from './network.ts';
import type { Throttling } from './throttling.ts';

export interface DeploymentSettings {
  readonly stage: string;
  /** Environment of every function, without the password. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The secret with the service user's password, by name or ARN, and its key if it is a JSON
   * object. Functions that call OpenStack read it when they need it, and again after a rotation.
   */
  readonly passwordSecret: string;
  readonly passwordField?: string;
  /** Key in KMS that encrypts the secret, if it is neither AWS's own nor `dataKeyArn`. */
  readonly passwordKeyArn?: string;
  /** Key in KMS that encrypts tables, queues, logs and the bucket, if it is not AWS's own. */
  readonly dataKeyArn?: string;
  /** Tables stay when the stack is removed, and cannot be deleted by mistake. */
  readonly keepData: boolean;
  readonly backUpHistory: boolean;
  readonly logRetention: RetentionDays;
  readonly logLevel: choices.LogLevel;
  /** X-Ray traces of the functions in access.ts. */
  readonly tracing: boolean;
  readonly throttling: Throttling;
  /** Functions without an entry have no reservation. */
  readonly reservedConcurrency: ReservedConcurrency;
  readonly provisionedConcurrency: ProvisionedConcurrency;
  readonly shifting: choices.Shifting;
  /** Whether operators have a web page; without it neither its function nor its routes exist. */
  readonly hasConsole: boolean;
  /** Without it the API has the name that AWS assigns. */
  readonly domain?: Domain;
  /** Without it functions reach OpenStack over the internet. */
  readonly network?: Network;
  /** An existing SNS topic for alarms. */
  readonly alarmTopicArn?: string;
  readonly alarmEmail?: string;
  readonly alarmActions: choices.AlarmActions;
  /** Address of the runbook; without it alarms name its path and the release's tag. */
  readonly runbooks?: string;
  /** Keystone is the example's: sufficient to synthesize, not to deploy. */
  readonly isExample: boolean;
}

/** The deployment's settings are wrong; the message names each and where it is set. */
export class DeploymentInvalid extends Error {
  override readonly name = 'DeploymentInvalid';
}

/** Name of the setting → variable of core/settings.ts. */
const passedOn = {
  stage: 'CYBORG_STAGE',
  defaultMicroversion: 'CYBORG_DEFAULT_MICROVERSION',
  publicEndpoint: 'CYBORG_PUBLIC_ENDPOINT',
  requireServiceToken: 'CYBORG_REQUIRE_SERVICE_TOKEN',
  serviceTokenRoles: 'CYBORG_SERVICE_TOKEN_ROLES',
  policy: 'CYBORG_POLICY',
  tokenCacheSeconds: 'CYBORG_TOKEN_CACHE_SECONDS',
  eventStyle: 'CYBORG_EVENT_STYLE',
  attachTypes: 'CYBORG_ATTACH_TYPES',
  bindDeadlineSeconds: 'CYBORG_BIND_DEADLINE_SECONDS',
  resolveWaitSeconds: 'CYBORG_RESOLVE_WAIT_SECONDS',
  unboundArqMinutes: 'CYBORG_UNBOUND_ARQ_MINUTES',
  cleaningsAtOnce: 'CYBORG_CLEANINGS_AT_ONCE',
  unboundArqsMax: 'CYBORG_UNBOUND_ARQS_MAX',
  devicesPerHostMax: 'CYBORG_DEVICES_PER_HOST_MAX',
  handlesPerHostMax: 'CYBORG_HANDLES_PER_HOST_MAX',
  cleanAtFirstSight: 'CYBORG_CLEAN_AT_FIRST_SIGHT',
  imageKeys: 'CYBORG_IMAGE_KEYS',
  requireSignature: 'CYBORG_REQUIRE_SIGNATURE',
  minVersions: 'CYBORG_MIN_VERSIONS',
  historyDays: 'CYBORG_HISTORY_DAYS',
  keystoneUrl: 'KEYSTONE_URL',
  keystonePublicUrl: 'KEYSTONE_PUBLIC_URL',
  username: 'CYBORG_OS_USERNAME',
  applicationCredentialId: 'CYBORG_OS_APPLICATION_CREDENTIAL_ID',
  projectName: 'CYBORG_OS_PROJECT_NAME',
  userDomainName: 'CYBORG_OS_USER_DOMAIN_NAME',
  projectDomainName: 'CYBORG_OS_PROJECT_DOMAIN_NAME',
  regionName: 'CYBORG_OS_REGION_NAME',
  interface: 'CYBORG_OS_INTERFACE',
  placementUrl: 'PLACEMENT_URL',
  novaUrl: 'NOVA_URL',
  glanceUrl: 'GLANCE_URL',
  stagingBucket: 'CYBORG_STAGING_BUCKET',
} as const satisfies Partial<Record<keyof CyborgSettings, string>>;

export const stagingBucketVariable = 'CYBORG_STAGING_BUCKET';
export const imageReaderVariable = 'CYBORG_IMAGE_READER_ROLE';
export const passwordVariable = 'CYBORG_OS_PASSWORD';
export const passwordSecretVariable = 'CYBORG_OS_PASSWORD_SECRET';
export const passwordFieldVariable = 'CYBORG_OS_PASSWORD_FIELD';

/** ARN prefix of the account's things; only CloudFormation knows the account. */
export const thingArnVariable = 'CYBORG_THING_ARN_PREFIX';

/** If set, esbuild writes its metafile beside each bundle; see test/bench/cold.ts. */
export const metafileContext = 'measureBundles';

// The command line gives text, cdk.json any JSON value.
const ownSettings = z.object({
  passwordSecret: matching(
    /^[\w/+=.@:-]{1,512}$/,
    'not the name or ARN of a secret in Secrets Manager',
    'the name or ARN of the secret in Secrets Manager that holds the password',
  ),
  /** Key in the secret, if the secret is a JSON object. */
  passwordField: z.string().optional(),
  passwordKeyArn: keyArn,
  dataKeyArn: keyArn,
  keepData: z.stringbool().default(true),
  backUpHistory: z.stringbool().default(false),
  logRetentionDays: z.coerce
    .number()
    .refine((days) => RetentionDays[days] !== undefined, 'not a retention of CloudWatch Logs')
    .default(RetentionDays.THREE_MONTHS),
  tracing: z.stringbool().default(false),
  console: z.stringbool().default(true),
  logLevel: z.enum(choices.logLevels).default('INFO'),
  domainName: z
    .string()
    .regex(/^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/, 'not a domain name')
    .optional(),
  certificateArn: matching(
    /^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[a-f0-9-]+$/,
    'not the ARN of a certificate in AWS Certificate Manager',
  ).optional(),
  truststoreUri: z
    .string()
    .regex(/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/[\w!.*'()/-]{1,1024}$/, 'not an S3 URI')
    .optional(),
  truststoreVersion: z
    .string()
    .regex(/^[\w.+/=-]{1,1024}$/, 'not the version of an object in S3')
    .optional(),
  subnetIds: idList(/^subnet-[0-9a-f]{8,17}$/, 'subnet'),
  securityGroupIds: idList(/^sg-[0-9a-f]{8,17}$/, 'security group'),
  /** With the other routes together within AWS's smallest account quota, 2,500 per second. */
  novaRequestsPerSecond: perSecond.default(2000),
  otherRequestsPerSecond: perSecond.default(14),
  reservedConcurrency: reservedConcurrencySchema,
  provisionedConcurrency: provisionedConcurrencySchema,
  /** The account's concurrent executions; new accounts may have fewer than Lambda's default. */
  concurrencyQuota: z.coerce.number('not a number').int().min(100).max(1_000_000).default(1000),
  shifting: z.enum(choices.shiftings).default('canary'),
  alarmTopicArn: matching(
    /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}$/,
    'not the ARN of an SNS topic',
  ).optional(),
  alarmEmail: z.email('not a mail address').optional(),
  alarmActions: z.enum(choices.alarmActions).default('all'),
  runbooks: z
    .string()
    .regex(/^https:\/\/[\w.-]+(:\d+)?(\/[\w.~%/@-]*)?$/, 'not an https URL without query and #')
    .max(128, 'longer than 128 characters')
    .optional(),
} satisfies Partial<Record<keyof CyborgSettings, z.ZodType>>);

const settingNames = [...Object.keys(passedOn), ...Object.keys(ownSettings.shape)];

/** The settings in the context. @throws DeploymentInvalid */
export function readSettings(node: Node): DeploymentSettings {
  const names = [...settingNames, 'password'].map(
    (name) => [name, node.tryGetContext(name)] as const,
  );
  const allowed = [...settingNames, metafileContext];
  const unknown = unknownSettings(Object.keys(node.getAllContext()), allowed);
  const remedy = 'Set them in the context of cdk.json, or with -c name=value.';
  return deploymentOf(Object.fromEntries(names), unknown, remedy);
}

/** Settings given in code; the context is not read. @throws DeploymentInvalid */
export function parseSettings(settings: CyborgSettings): DeploymentSettings {
  const unknown = unknownSettings(Object.keys(settings), settingNames);
  const remedy = 'Set them in the property settings of CyborgStack.';
  return deploymentOf({ ...settings }, unknown, remedy);
}

function deploymentOf(
  values: Readonly<Record<string, unknown>>,
  unknown: readonly string[],
  remedy: string,
): DeploymentSettings {
  if (values.password !== undefined) {
    throw new DeploymentInvalid(
      'The password must not be a setting: store it in Secrets Manager and name the secret in passwordSecret.',
    );
  }
  const texts = Object.fromEntries(settingNames.map((name) => [name, textOf(values[name])]));
  const passed = Object.entries(passedOn).flatMap(([setting, variable]) => {
    const text = texts[setting];
    return text === undefined ? [] : [[variable, text] as const];
  });
  const parsed = ownSettings.safeParse(texts);
  const environment = Object.fromEntries(passed);
  const faults = [
    ...faultsOfFunctions(environment),
    ...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join('.')}: ${issue.message}`),
    ...contradictionsIn(texts),
    ...(parsed.success ? faultsOfQuota(parsed.data) : []),
    ...unknown,
  ];
  if (!parsed.success || faults.length > 0) {
    throw new DeploymentInvalid(
      `The deployment's settings are wrong. ${faults.join('; ')}. ${remedy}`,
    );
  }
  const { passwordSecret, passwordField, logLevel, logRetentionDays, keepData } = parsed.data;
  const { domainName, certificateArn, truststoreUri, truststoreVersion } = parsed.data;
  const { subnetIds, securityGroupIds, alarmTopicArn, alarmEmail, runbooks } = parsed.data;
  const { passwordKeyArn, dataKeyArn, reservedConcurrency, provisionedConcurrency } = parsed.data;
  return {
    stage: String(environment[passedOn.stage]),
    environment: { ...environment, POWERTOOLS_LOG_LEVEL: logLevel },
    passwordSecret,
    ...present({ passwordField, passwordKeyArn, dataKeyArn }),
    ...present({ alarmTopicArn, alarmEmail, runbooks }),
    keepData,
    backUpHistory: parsed.data.backUpHistory,
    logRetention: logRetentionDays,
    logLevel,
    tracing: parsed.data.tracing,
    throttling: {
      nova: parsed.data.novaRequestsPerSecond,
      others: parsed.data.otherRequestsPerSecond,
    },
    reservedConcurrency,
    provisionedConcurrency,
    shifting: parsed.data.shifting,
    hasConsole: parsed.data.console,
    ...(domainName &&
      certificateArn && {
        domain: {
          name: domainName,
          certificateArn,
          ...(truststoreUri && {
            truststore: {
              uri: truststoreUri,
              ...(truststoreVersion && { version: truststoreVersion }),
            },
          }),
        },
      }),
    ...(subnetIds && securityGroupIds && { network: { subnetIds, securityGroupIds } }),
    alarmActions: parsed.data.alarmActions,
    isExample: new URL(environment[passedOn.keystoneUrl] ?? '').hostname.endsWith('.example.org'),
  };
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Refuses at synth what the functions would refuse at start, by the settings' names. */
function faultsOfFunctions(environment: Readonly<Record<string, string>>): string[] {
  try {
    loadSettings({ ...environment, [passwordVariable]: 'in Secrets Manager' });
    return [];
  } catch (error) {
    if (!(error instanceof SettingsInvalid)) throw error;
    const named = Object.entries(passedOn).reduce(
      (text, [setting, variable]) =>
        text.replaceAll(new RegExp(`\\b${variable}(?=[.:])`, 'g'), setting),
      error.message.replace('Settings are wrong. ', ''),
    );
    return [named];
  }
}
