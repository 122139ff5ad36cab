import { Annotations, CfnOutput, Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';
import { eventBusName } from '#core/contracts/events.ts';
import type { FunctionName } from './access.ts';
import { Alarms } from './alarms.ts';
import { Api } from './api.ts';
import { Consumers } from './consumers.ts';
import { Dashboard } from './dashboard.ts';
import { HostConnections } from './iot.ts';
import { createNotification } from './notification.ts';
import { createQueues } from './queues.ts';
import type { DeploymentSettings } from './settings.ts';
import { createStagingBucket } from './staging.ts';
import { TableProtection } from './table-protection.ts';
import { createTables } from './tables.ts';

/**
 * The whole system; the local one is built from the same tables:
 *
 * - clients → HTTP API → a function per resource → tables
 * - tables' streams → `changes` → queues → a function per queue → Placement, Nova, hosts
 * - tables' streams → `announcements` → event bus → subscribers
 * - Glance → staging bucket → hosts
 * - hosts → IoT rules → queues → a function per queue → tables
 * - every minute → `sweep` → tables
 */
export class CyborgStack extends Stack {
  constructor(scope: Construct, id: string, settings: DeploymentSettings) {
    super(scope, id, {
      description: `OpenStack Cyborg, stage ${settings.stage}`,
      // Tags for cost reports and searches.
      tags: { application: 'cyborg-serverless', stage: settings.stage },
    });
    const tables = createTables(this, settings);
    const queues = createQueues(this, settings);
    const staging = createStagingBucket(this, settings);
    const api = new Api(this, 'Api', { settings, tables, queues, staging });
    const consumers = new Consumers(this, 'Consumers', { settings, tables, queues, staging });
    const bus = new EventBus(this, 'EventBus', { eventBusName: eventBusName(settings.stage) });
    const hosts = new HostConnections(this, 'Hosts', { settings, queues });
    const after = [api, consumers, hosts, staging];
    new TableProtection(this, 'TableProtection', { settings, tables, after });
    const { stage, hasConsole } = settings;
    const { apiId } = api;
    const action = createNotification(this, settings);
    const limited = Object.keys(settings.reservedConcurrency) as FunctionName[];
    const { all: alarms } = new Alarms(this, 'Alarms', { stage, apiId, limited, action });
    const dashboard = new Dashboard(this, 'Dashboard', { stage, apiId, hasConsole, alarms });

    new CfnOutput(this, 'Endpoint', {
      value: `${api.url}/accelerator/v2`,
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
    if (settings.isExample) {
      Annotations.of(this).addWarningV2(
        'cyborg:example-keystone',
        'keystoneUrl is the example value of cdk.json: set your own there, or with -c keystoneUrl=...',
      );
    }
  }
}
