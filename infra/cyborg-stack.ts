import { Annotations, CfnOutput, Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';
import { eventBusName } from '#core/contracts/events.ts';
import { Alarms } from './alarms.ts';
import { Api } from './api.ts';
import { Consumers } from './consumers.ts';
import { HostConnections } from './iot.ts';
import { createQueues, deadQueuesOf } from './queues.ts';
import type { DeploymentSettings } from './settings.ts';
import { createStagingBucket } from './staging.ts';
import { createTables } from './tables.ts';

/**
 * The system, from the tables by which the local one is made, too:
 *
 *   clients → HTTP API → a function per noun → tables
 *   tables' streams → `changes` → queues → a function per queue → Placement, Nova, hosts
 *   tables' streams → `announcements` → event bus → whoever follows
 *   Glance → staging bucket → hosts
 *   hosts → IoT rules → queues → a function per queue → tables
 *   every minute → `sweep` → tables
 */
export class CyborgStack extends Stack {
  constructor(scope: Construct, id: string, settings: DeploymentSettings) {
    super(scope, id, {
      description: `OpenStack Cyborg, stage ${settings.stage}`,
      // What a bill or a search by tags is asked for.
      tags: { application: 'cyborg-serverless', stage: settings.stage },
    });
    const tables = createTables(this, settings);
    const queues = createQueues(this, settings);
    const staging = createStagingBucket(this, settings);
    const api = new Api(this, 'Api', { settings, tables, queues, staging });
    const consumers = new Consumers(this, 'Consumers', { settings, tables, queues, staging });
    const bus = new EventBus(this, 'EventBus', { eventBusName: eventBusName(settings.stage) });
    const hosts = new HostConnections(this, 'Hosts', { settings, queues });
    new Alarms(this, 'Alarms', {
      stage: settings.stage,
      deadQueues: {
        ...deadQueuesOf(queues),
        'changes-dead': consumers.deadChanges.changes,
        'announcements-dead': consumers.deadChanges.announcements,
        'rules-dead': hosts.undelivered,
      },
      changes: consumers.changes,
      announcements: consumers.announcements,
      sweep: consumers.sweep,
    });

    new CfnOutput(this, 'Endpoint', {
      value: `${api.url}/accelerator/v2`,
      description: 'Of the service `accelerator` in the Keystone catalog',
    });
    new CfnOutput(this, 'EventBusName', {
      value: bus.eventBusName,
      description: 'Where ARQs and devices are announced; see docs/events.md',
    });
    new CfnOutput(this, 'HostPolicy', {
      value: hosts.policyName,
      description: 'IoT policy to attach to the certificate of each compute node',
    });
    if (settings.isExample) {
      Annotations.of(this).addWarningV2(
        'cyborg:example-keystone',
        'keystoneUrl is the example of cdk.json: give your own there, or as -c keystoneUrl=...',
      );
    }
  }
}
