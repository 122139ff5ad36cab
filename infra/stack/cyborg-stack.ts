import { Annotations, CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { EventBus } from 'aws-cdk-lib/aws-events';
import type { Function as LambdaFunctionOfCdk } from 'aws-cdk-lib/aws-lambda';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { eventBusName } from '#core/contracts/events.ts';
import type { FunctionName } from '#infra/access.ts';
import { HostConnections } from '#infra/iot/iot.ts';
import { Alarms } from '#infra/monitoring/alarms.ts';
import { Dashboard } from '#infra/monitoring/dashboard.ts';
import { createNotification } from '#infra/monitoring/notification.ts';
import { setFeatureFlags } from '#infra/settings/feature-flags.ts';
import type { CyborgSettings } from '#infra/settings/given-settings.ts';
import { type DeploymentSettings, parseSettings } from '#infra/settings/settings.ts';
import { encryptUnder } from '#infra/storage/data-key.ts';
import { createQueues, type Queues } from '#infra/storage/queues.ts';
import { createStagingBucket } from '#infra/storage/staging.ts';
import { TableProtection } from '#infra/storage/table-protection.ts';
import { createTables, type Tables } from '#infra/storage/tables.ts';
import { Api } from './api.ts';
import { Consumers } from './consumers.ts';
import { LambdaFunction } from './lambda-function.ts';
import { Releases } from './releases.ts';

export interface CyborgStackProps extends StackProps {
  /** Given in code, or what `readSettings` has read from the context. */
  readonly settings: CyborgSettings | DeploymentSettings;
}

/** Without `console` and `release-check` if the settings leave them out. */
export type Functions = Readonly<
  Record<Exclude<FunctionName, 'console' | 'release-check'>, LambdaFunctionOfCdk>
> & {
  readonly console?: LambdaFunctionOfCdk;
  readonly 'release-check'?: LambdaFunctionOfCdk;
};

/**
 * The whole system; the local one is built from the same tables:
 *
 * - clients → HTTP API → a function per resource → tables
 * - tables' streams → `changes` → queues → a function per queue → Placement, Nova, hosts
 * - tables' streams → `announcements` → event bus → subscribers
 * - Glance → staging bucket → hosts
 * - hosts → IoT rules → queues → a function per queue → tables
 * - every minute → `sweep` → tables
 * - a deployment → `release-check` → new versions of Nova's functions
 */
export class CyborgStack extends Stack {
  /** Endpoint of the service `accelerator` in the Keystone catalog. */
  readonly endpoint: string;
  readonly httpApi: HttpApi;
  readonly tables: Tables;
  readonly queues: Queues;
  readonly functions: Functions;
  readonly eventBus: EventBus;
  readonly stagingBucket: Bucket;
  readonly alarms: readonly Alarm[];
  /** The topic of `alarmTopicArn`, or our own for `alarmEmail`; otherwise there is none. */
  readonly alarmTopic: ITopic | undefined;

  /** @throws DeploymentInvalid */
  constructor(scope: Construct, id: string, { settings: given, ...props }: CyborgStackProps) {
    const settings = 'environment' in given ? given : parseSettings(given);
    super(scope, id, {
      description: `OpenStack Cyborg, stage ${settings.stage}`,
      ...props,
      // Tags for cost reports and searches.
      tags: { application: 'cyborg-serverless', stage: settings.stage, ...props.tags },
    });
    setFeatureFlags(this.node);
    const tables = createTables(this, settings);
    const queues = createQueues(this, settings);
    const staging = createStagingBucket(this, settings);
    const api = new Api(this, 'Api', { settings, tables, queues, staging });
    const consumers = new Consumers(this, 'Consumers', { settings, tables, queues, staging });
    const bus = new EventBus(this, 'EventBus', { eventBusName: eventBusName(settings.stage) });
    const hosts = new HostConnections(this, 'Hosts', { settings, queues });
    const { stage, hasConsole } = settings;
    const { apiId } = api.httpApi;
    const topic = createNotification(this, settings);
    const action = topic && new SnsAction(topic);
    const limited = Object.keys(settings.reservedConcurrency) as FunctionName[];
    const { all: alarms } = new Alarms(this, 'Alarms', {
      stage,
      apiId,
      limited,
      action,
      certificateArn: settings.domain?.certificateArn,
      actionsOf: settings.alarmActions,
      runbooks: settings.runbooks,
    });
    const dashboard = new Dashboard(this, 'Dashboard', { stage, apiId, hasConsole, alarms });

    const after: Construct[] = [api, consumers, hosts, staging];
    if (settings.shifting !== 'all-at-once') {
      const releases = new Releases(this, 'Releases', {
        surroundings: { settings, tables, queues, staging },
        shifting: settings.shifting,
        functions: this.#ownFunctions(),
        alarms,
      });
      after.push(releases);
    }
    const [first] = this.#ownFunctions().flatMap(({ live }) => live ?? []);
    const release = first?.version.version ?? '';
    new TableProtection(this, 'TableProtection', { settings, tables, release, after });
    if (settings.dataKeyArn) encryptUnder(settings.dataKeyArn, this);

    this.endpoint = `${api.url}/accelerator/v2`;
    this.httpApi = api.httpApi;
    this.tables = tables;
    this.queues = queues;
    this.functions = this.#functions();
    this.eventBus = bus;
    this.stagingBucket = staging;
    this.alarms = alarms;
    this.alarmTopic = topic;

    new CfnOutput(this, 'Endpoint', {
      value: this.endpoint,
      description: 'Endpoint of the service `accelerator` in the Keystone catalog',
    });
    if (hasConsole) {
      new CfnOutput(this, 'Console', {
        value: `${api.url}/console`,
        description: "The operators' web page; see docs/console.md",
      });
    }
    new CfnOutput(this, 'ImageSource', {
      description: 'URL prefix of images: --images of enrol',
      value: `https://${staging.bucketRegionalDomainName}/`,
    });
    new CfnOutput(this, 'DashboardName', {
      value: dashboard.name,
      description: 'CloudWatch dashboard: health of the stage by flow',
    });
    new CfnOutput(this, 'EventBusName', {
      value: bus.eventBusName,
      description: 'Event bus of ARQs and devices; see docs/events.md',
    });
    new CfnOutput(this, 'HostPolicy', {
      value: hosts.policyName,
      description: 'IoT policy of the certificate of each compute node',
    });
    if (!topic) {
      Annotations.of(this).addWarningV2(
        'cyborg:alarms-without-action',
        'No alarm has an action: set alarmEmail, or alarmTopicArn for a topic of your own',
      );
    }
    if (settings.isExample) {
      Annotations.of(this).addWarningV2(
        'cyborg:example-keystone',
        'keystoneUrl is an example: set your own in cdk.json, with -c keystoneUrl=... or in the app',
      );
    }
  }

  #functions(): Functions {
    const all = this.#ownFunctions().map((each) => [each.name, each] as const);
    return Object.fromEntries(all) as unknown as Functions;
  }

  #ownFunctions(): LambdaFunction[] {
    return this.node.findAll().filter((each) => each instanceof LambdaFunction);
  }
}
