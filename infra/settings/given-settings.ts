// The settings as an app gives them in code, by the names of docs/deploy.md. settings.ts validates
// them with the rules for the context of cdk.json, since their values may come from anywhere.

import type { FunctionName, ShiftedName } from '#infra/access.ts';
import type { Provisioned } from './provisioned.ts';

/** Function without the stage → executions. */
export type ReservedConcurrency = Readonly<Partial<Record<FunctionName, number>>>;
export type ProvisionedConcurrency = Readonly<Partial<Record<ShiftedName, Provisioned>>>;

/** References of the CDK, such as `topic.topicArn`, may stand for ids and ARNs. */
export interface CyborgSettings {
  /** Prefix of every name; several stages share an account. */
  readonly stage: string;
  /** The address that Lambda functions use. */
  readonly keystoneUrl: string;
  /** What 401 answers point to. */
  readonly keystonePublicUrl?: string;
  /** Name or ARN of the secret with the password; a reference must be the whole ARN. */
  readonly passwordSecret: string;
  /** The password's key, if the secret is a JSON object. */
  readonly passwordField?: string;
  /** Key in KMS of that secret, if it is neither AWS's own nor dataKeyArn. */
  readonly passwordKeyArn?: string;
  /** Key in KMS of tables, queues, logs and the bucket; the stack's secret may have it, too. */
  readonly dataKeyArn?: string;
  readonly username?: string;
  readonly projectName?: string;
  readonly userDomainName?: string;
  readonly projectDomainName?: string;
  readonly regionName?: string;
  readonly interface?: 'internal' | 'public' | 'admin';
  /** Instead of user and project; the secret is then the credential's. */
  readonly applicationCredentialId?: string;
  readonly placementUrl?: string;
  readonly novaUrl?: string;
  readonly glanceUrl?: string;
  readonly stagingBucket?: string;
  readonly defaultMicroversion?: '2.0' | '2.1' | '2.2' | '2.3';
  readonly publicEndpoint?: string;
  /** Rule → roles. */
  readonly policy?: Readonly<Record<string, readonly string[]>>;
  /** Role → seconds that a validated token with the role is cached. */
  readonly tokenCacheSeconds?: Readonly<Record<string, number>>;
  readonly requireServiceToken?: boolean;
  readonly serviceTokenRoles?: readonly string[];
  readonly eventStyle?: 'nova' | 'spec';
  readonly attachTypes?: readonly ('PCI' | 'MDEV' | 'TEST_PCI')[];
  readonly bindDeadlineSeconds?: number;
  readonly resolveWaitSeconds?: number;
  readonly unboundArqMinutes?: number;
  readonly cleaningsAtOnce?: number;
  readonly unboundArqsMax?: number;
  readonly devicesPerHostMax?: number;
  readonly handlesPerHostMax?: number;
  /** Resource classes. */
  readonly cleanAtFirstSight?: readonly string[];
  /** Who signs images of components: name → public key of Ed25519, as base64. */
  readonly imageKeys?: Readonly<Record<string, string>>;
  readonly requireSignature?: readonly ('shell' | 'firmware')[];
  /** Model → component → the lowest version that may be written. */
  readonly minVersions?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly domainName?: string;
  readonly certificateArn?: string;
  readonly truststoreUri?: string;
  readonly truststoreVersion?: string;
  readonly subnetIds?: readonly string[];
  readonly securityGroupIds?: readonly string[];
  readonly novaRequestsPerSecond?: number;
  readonly otherRequestsPerSecond?: number;
  readonly reservedConcurrency?: ReservedConcurrency;
  readonly provisionedConcurrency?: ProvisionedConcurrency;
  readonly concurrencyQuota?: number;
  /** How a new version of the functions of Nova's path takes over. */
  readonly shifting?: 'canary' | 'linear' | 'all-at-once';
  /** Excludes alarmEmail. */
  readonly alarmTopicArn?: string;
  readonly alarmEmail?: string;
  /** Which alarms are sent: all, or those of the severity `page`. */
  readonly alarmActions?: 'all' | 'page';
  /** Address of docs/operations.md as your team publishes it. */
  readonly runbooks?: string;
  /** The web page of operators. */
  readonly console?: boolean;
  readonly historyDays?: number;
  /** The tables stay when the stack is removed. */
  readonly keepData?: boolean;
  /** The history's table can be restored to any second of the last 35 days. */
  readonly backUpHistory?: boolean;
  readonly logRetentionDays?: number;
  readonly logLevel?: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
  readonly tracing?: boolean;
}
