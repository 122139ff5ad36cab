// The dependencies of operations. Everything outside the process, including time and randomness,
// is injected here, so that a simulation can replace it. The API's functions need these; the
// additional ones of consumers are in consumer-deps.ts, and only in their bundles.

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenPassword, rotatedPassword } from './clients/aws/password.ts';
import { readSecret } from './clients/aws/secrets.ts';
import { createHttp, type Http } from './clients/http.ts';
import { createGlance, type Glance } from './clients/openstack/glance.ts';
import {
  createKeystone,
  type Keystone,
  ownIdentity,
} from './clients/openstack/keystone/keystone.ts';
import { createNova, type Nova } from './clients/openstack/nova.ts';
import { createPlacementReads, type PlacementReads } from './clients/openstack/placement-reads.ts';
import { createLog, type Log } from './log.ts';
import { loadSettings, type Settings } from './settings.ts';
import { type ArqStore, arqStore } from './store/arqs/arqs.ts';
import { type BindingStore, bindingStore } from './store/arqs/bindings.ts';
import { type ReleaseStore, releaseStore } from './store/arqs/releases.ts';
import { type UnboundPlaceStore, unboundPlaceStore } from './store/arqs/unbound-places.ts';
import { type DeviceProfileStore, deviceProfileStore } from './store/device-profiles.ts';
import { type HistoryWriter, historyWriter } from './store/history/history.ts';
import { type AttributeStore, attributeStore } from './store/inventory/attributes.ts';
import { type BaselineStore, baselineStore } from './store/inventory/baselines.ts';
import {
  type ComponentProgramStore,
  componentProgramStore,
} from './store/inventory/component-programs.ts';
import { type GrantStore, grantStore } from './store/inventory/grants.ts';
import { type HoldStore, holdStore } from './store/inventory/holds.ts';
import { type InventoryStore, inventoryStore } from './store/inventory/inventory.ts';
import { type InventoryReads, inventoryReads } from './store/inventory/inventory-reads.ts';
import { type RegionStore, regionStore } from './store/inventory/regions.ts';
import { type Listings, listings } from './store/listings.ts';
import { ownTokenStore } from './store/own-tokens.ts';
import { type PromiseStore, promiseStore } from './store/promises.ts';
import { type QuotaListings, quotaListings } from './store/quotas/quota-listings.ts';
import { type QuotaStore, quotaStore } from './store/quotas/quotas.ts';
import { createDocuments, type DocumentClients } from './store/table/documents.ts';
import { tableName } from './store/table/tables.ts';

/** What answering a request needs, whatever it is about. */
export interface RequestDeps {
  readonly settings: Settings;
  readonly clients: { readonly keystone: Pick<Keystone, 'validateToken'> };
  readonly log: Log;
  /** The request that is answered, or that led to the current message. */
  readonly requestId?: string;
  /** Who changes what is changed, as in a {@link ChangeNote}; absent for the service itself. */
  readonly actor?: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly uuid: () => string;
  /** Where records of calls are stored; absent where no call changes anything. */
  readonly callHistory?: Pick<HistoryWriter, 'add'>;
}

/** What the functions of Nova's path need. */
export interface NovaDeps extends RequestDeps {
  /** Base tables with consistent reads only: everything on Nova's path. */
  readonly store: NovaStore;
  /** Indexes: never on Nova's path. */
  readonly listings: Listings & QuotaListings;
  readonly clients: {
    readonly keystone: Keystone;
    readonly nova: Nova;
    readonly glance: Glance;
    readonly placement: PlacementReads;
  };
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly randomBytes: (count: number) => Uint8Array;
  /** 0 ≤ x < 1 */
  readonly random: () => number;
}

export interface Deps extends NovaDeps {
  readonly store: Store;
}

export interface NovaStore {
  readonly profiles: DeviceProfileStore;
  readonly promises: PromiseStore;
  readonly arqs: ArqStore;
  readonly bindings: BindingStore;
  readonly inventory: InventoryReads;
  readonly quotas: QuotaStore;
  readonly unbound: UnboundPlaceStore;
}

export interface Store extends NovaStore {
  readonly inventory: InventoryStore;
  readonly attributes: AttributeStore;
  readonly baselines: BaselineStore;
  readonly grants: GrantStore;
  readonly holds: HoldStore;
  readonly regions: RegionStore;
  readonly componentPrograms: ComponentProgramStore;
  readonly releases: ReleaseStore;
}

export function createNovaStore(
  clients: DocumentClients,
  stage: string,
): Pick<NovaDeps, 'store' | 'listings'> {
  const arqs = tableName(stage, 'arqs');
  const inventory = tableName(stage, 'inventory');
  const profiles = tableName(stage, 'device-profiles');
  return {
    store: {
      profiles: deviceProfileStore(clients.strong, profiles),
      promises: promiseStore(clients.strong, profiles),
      arqs: arqStore(clients.strong, arqs),
      bindings: bindingStore(clients.strong, { arqs, inventory }),
      inventory: inventoryReads(clients.strong, inventory),
      quotas: quotaStore(clients.strong, arqs),
      unbound: unboundPlaceStore(clients.strong, arqs),
    },
    listings: {
      ...listings(clients.documents, { arqs, inventory, profiles }),
      ...quotaListings(clients.documents, arqs),
    },
  };
}

export function createStore(
  clients: DocumentClients,
  stage: string,
): Pick<Deps, 'store' | 'listings'> {
  const { store, listings } = createNovaStore(clients, stage);
  const arqs = tableName(stage, 'arqs');
  const inventory = tableName(stage, 'inventory');
  return {
    store: {
      ...store,
      inventory: inventoryStore(clients.strong, inventory),
      attributes: attributeStore(clients.strong, inventory),
      baselines: baselineStore(clients.strong, inventory),
      grants: grantStore(clients.strong, inventory),
      holds: holdStore(clients.strong, inventory),
      regions: regionStore(clients.strong, { arqs, inventory }),
      componentPrograms: componentProgramStore(clients.strong, { arqs, inventory }),
      releases: releaseStore(clients.strong, { arqs, inventory }),
    },
    listings,
  };
}

/** One per Lambda container, or local process. */
export function createDeps(
  service: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
  http: Http = createHttp(),
): Deps {
  return createDepsWith(createStore, service, env, http);
}

/** Without the stores that Nova's calls do not use, so that their functions start sooner. */
export function createNovaDeps(service: string): NovaDeps {
  return createDepsWith(createNovaStore, service, process.env, createHttp());
}

/** With the stores of the caller's kind of function. */
export function createDepsWith<Stores>(
  makeStores: (clients: DocumentClients, stage: string) => Stores,
  service: string,
  env: Readonly<Record<string, string | undefined>>,
  http: Http,
): Omit<Deps, 'store' | 'listings'> & Stores {
  const settings = loadSettings(env);
  const log = createLog(service);
  const clock = Date.now;
  const documents = createDocuments();
  const { url, username, projectName, applicationCredentialId = '' } = settings.keystone;
  const { password, passwordSecret } = settings.keystone;
  const passwords = passwordSecret
    ? rotatedPassword(
        (stage) => readSecret(passwordSecret, stage, documents.strong.config, env),
        log,
      )
    : givenPassword(password);
  const keystone = createKeystone({
    settings: settings.keystone,
    passwords,
    endpoints: settings.endpoints,
    http,
    clock,
    log,
    random: Math.random,
    ownTokenStore: ownTokenStore(documents.strong, tableName(settings.stage, 'service-tokens'), {
      owner: JSON.stringify([url, username, projectName, applicationCredentialId]),
      passwords,
    }),
  });
  return {
    settings,
    ...makeStores(documents, settings.stage),
    callHistory: historyWriter(
      documents.documents,
      {
        history: tableName(settings.stage, 'history'),
        inventory: tableName(settings.stage, 'inventory'),
      },
      settings.historyDays,
    ),
    clients: {
      keystone,
      nova: createNova({ identity: keystone, http }),
      glance: createGlance({
        identity: keystone,
        http,
        ownProject: async () => (await ownIdentity(keystone))?.projectId,
      }),
      placement: createPlacementReads({ identity: keystone, http }),
    },
    log,
    clock,
    sleep,
    uuid: randomUUID,
    randomBytes,
    random: Math.random,
  };
}
