// Keys of rows. The tables' key schema is listed in tables.ts.

export type Row = Record<string, unknown>;

export const arqKey = (uuid: string) => ({ pk: `ARQ#${uuid}` });
export const jobKey = (uuid: string) => ({ pk: `JOB#${uuid}` });
export const releaseKey = (id: string) => ({ pk: `RELEASE#${id}` });
export const programKey = (id: string) => ({ pk: `PROGRAM#${id}` });
export const quotaKey = (projectId: string) => ({ pk: `QUOTA#${projectId}` });
/** One part of the places of a project's unbound ARQs. */
export const unboundKey = (projectId: string, part: number) => ({
  pk: `UNBOUND#${projectId}#${part}`,
});
export const reaperKey = () => ({ pk: 'REAPER' });
export const neverBuiltKey = () => ({ pk: 'REAPER_NEVER_BUILT' });
/** Unused instances that wait for an operator. */
export const reaperWaitsKey = () => ({ pk: 'REAPER_WAITS' });
/** The row that stores the moment of the last restored backup. */
export const restoredKey = () => ({ pk: 'RESTORED', sk: 'RESTORED' });
export const instanceKey = (uuid: string) => ({ pk: `INSTANCE#${uuid}` });
export const hostKey = (hostname: string) => ({ pk: `HOST#${hostname}`, sk: 'HOST' });
/** What changes seldom of a host; hosts are listed by it. */
export const hostSummaryKey = (hostname: string) => ({ pk: `HOST#${hostname}`, sk: 'SUMMARY' });
/** What the host does not offer; it changes less often than the host's own row. */
export const notOfferedKey = (hostname: string) => ({ pk: `HOST#${hostname}`, sk: 'NOT_OFFERED' });
export const waitingBindKey = (hostname: string, bindId: string) => ({
  pk: `HOST#${hostname}`,
  sk: `WAITING#${bindId}`,
});
/** A host or a device that may have an incident. */
export const incidentMarkKey = (kind: string, id: string) => ({
  pk: `INCIDENTS#${kind}`,
  sk: `MARK#${id}`,
});
/** The sweep's last rounds over the marks. */
export const incidentRoundsKey = () => ({ pk: 'INCIDENTS', sk: 'ROUNDS' });
/** Hosts up to this name, as the sweep has measured them. */
export const measuredHostsKey = (upTo: string) => ({ pk: 'MEASURED', sk: `HOSTS#${upTo}` });
/** The claims of handles of hosts up to this name, as the sweep has read them. */
export const measuredClaimsKey: typeof measuredHostsKey = (upTo) => ({
  pk: 'MEASURED',
  sk: `CLAIMS#${upTo}`,
});
/** The attempts to clean on the hosts of a failure domain; one partition has all of them. */
export const cleaningGroupKey = (failureDomain: string) => ({
  pk: 'CLEANINGS',
  sk: `DOMAIN#${failureDomain}`,
});
/** One row has all baselines of the cloud. */
export const baselinesKey = () => ({ pk: 'BASELINES', sk: 'BASELINES' });
/** One row has all holds of the cloud. */
export const holdsKey = () => ({ pk: 'HOLDS', sk: 'HOLDS' });
export const deviceKey = (hostname: string, uuid: string) => ({
  pk: `HOST#${hostname}`,
  sk: `DEVICE#${uuid}`,
});
export const deployableKey = (provider: string) => ({ pk: `RP#${provider}`, sk: 'DEPLOYABLE' });
export const handleKey = (provider: string, uuid: string) => ({
  pk: `RP#${provider}`,
  sk: `HANDLE#${uuid}`,
});

/** Rows that were created at the same time are ordered by uuid. */
export const creationOrder = (createdAt: string, uuid: string) => `${createdAt}#${uuid}`;
