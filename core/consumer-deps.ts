// The dependencies of consumers: those of the API's functions, and services for consumers only.

import { SQSClient } from '@aws-sdk/client-sqs';
import { present } from '#core/shapes/derive/present.ts';
import { createHostMessages, type HostMessages } from './clients/aws/host-messages.ts';
import { createIotJobs, type IotJobs } from './clients/aws/iot-jobs.ts';
import {
  createDeadLetter,
  createQueues,
  type DeadLetter,
  type Queues,
} from './clients/aws/queues.ts';
import { createHttp } from './clients/http.ts';
import { createPlacement, type Placement } from './clients/openstack/placement.ts';
import { createStaging, type Staging } from './clients/staging.ts';
import { createDepsWith, createStore, type Deps } from './deps.ts';
import type { CapacityHost } from './domain/capacity/capacity.ts';
import type { HostClaims } from './domain/quota/lasting-claims.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type ReaperStore, reaperStore } from './store/arqs/reaper.ts';
import { type FleetStore, fleetStore } from './store/fleet.ts';
import { type BindCountStore, bindCountStore } from './store/history/bind-counts.ts';
import { type HistoryReader, historyReader } from './store/history/history.ts';
import { type UsageSumStore, usageSumStore } from './store/history/usage-sums.ts';
import { type CleaningGroupStore, cleaningGroupStore } from './store/hosts/cleaning-groups.ts';
import { type IncidentMarkStore, incidentMarkStore } from './store/hosts/incident-marks.ts';
import { measuredClaims, measuredHosts } from './store/hosts/measured-hosts.ts';
import { type MeasuredStore, measuredStore } from './store/hosts/measured-store.ts';
import { type WaitingBindStore, waitingBindStore } from './store/hosts/waiting-binds.ts';
import type { DocumentClients } from './store/table/documents.ts';
import { tableName } from './store/table/tables.ts';

export interface ConsumerDeps extends Deps {
  readonly store: Deps['store'] & {
    readonly reaper: ReaperStore;
    readonly cleaningGroups: CleaningGroupStore;
    readonly waitingBinds: WaitingBindStore;
    readonly bindCounts: BindCountStore;
    readonly usageSums: UsageSumStore;
    readonly fleet: FleetStore;
    readonly incidentMarks: IncidentMarkStore;
    readonly measuredHosts: MeasuredStore<CapacityHost>;
    readonly measuredClaims: MeasuredStore<HostClaims>;
  };
  readonly clients: Deps['clients'] & {
    readonly placement: Placement;
    readonly jobs: IotJobs;
    readonly hostMessages: HostMessages;
    readonly staging: Staging;
  };
  readonly history: HistoryReader;
  readonly queues: Queues;
  readonly metrics: Metrics;
  /** Only for stream consumers. */
  readonly deadLetter: DeadLetter;
}

/** Whose word a consumer acts on; the others act for the service itself. */
const actors: Readonly<Record<string, string>> = {
  'inventory-reports': 'agent',
  'job-events': 'agent',
  'host-presence': 'agent',
  sweep: 'sweep',
};

export function createConsumerStore(
  clients: DocumentClients,
  stage: string,
): Pick<ConsumerDeps, 'store' | 'listings' | 'history'> {
  const stores = createStore(clients, stage);
  const inventory = tableName(stage, 'inventory');
  return {
    ...stores,
    history: historyReader(clients.documents, tableName(stage, 'history')),
    store: {
      ...stores.store,
      reaper: reaperStore(clients.strong, {
        arqs: tableName(stage, 'arqs'),
        inventory,
      }),
      cleaningGroups: cleaningGroupStore(clients.strong, inventory),
      bindCounts: bindCountStore(clients.documents, tableName(stage, 'history')),
      usageSums: usageSumStore(clients.documents, tableName(stage, 'history')),
      fleet: fleetStore(clients.strong, tableName(stage, 'history')),
      incidentMarks: incidentMarkStore(clients.strong, inventory),
      measuredHosts: measuredStore(clients.documents, inventory, measuredHosts),
      measuredClaims: measuredStore(clients.documents, inventory, measuredClaims),
      waitingBinds: waitingBindStore(clients.strong, inventory),
    },
  };
}

/** One per Lambda container, or local process. */
export function createConsumerDeps(
  service: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): ConsumerDeps {
  const http = createHttp();
  const deps = createDepsWith(createConsumerStore, service, env, http);
  const { stage, thingArnPrefix, queueUrls, deadQueueUrls, staging } = deps.settings;
  const sqs = new SQSClient();
  const actor = actors[service];
  return {
    ...deps,
    ...present({ actor }),
    clients: {
      ...deps.clients,
      placement: createPlacement({ identity: deps.clients.keystone, http }),
      jobs: createIotJobs({ stage, thingArnPrefix }),
      hostMessages: createHostMessages({ stage }),
      staging: createStaging({ ...staging, glance: deps.clients.glance, clock: deps.clock }),
    },
    queues: createQueues(sqs, queueUrls),
    deadLetter: createDeadLetter(sqs, deadQueueUrls.changes),
    metrics: createMetrics(stage),
  };
}
