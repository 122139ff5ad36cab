// What a change of a host's summary adds to the history.

import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Draft } from './history.ts';
import { type Incident, lostProvidersIncident, skewIncident } from './incidents.ts';

export function hostDrafts(
  before: HostSummary | undefined,
  after: HostSummary | undefined,
): Draft[] {
  const host = after ?? before;
  if (!host) return [];
  const { hostname } = host;
  const common = { hostname, by: 'agent' };
  const left = before?.presence?.isConnected === false ? before.presence.since : undefined;
  if (!after) return [{ kind: 'host.forgotten', hostname, ...present({ since: left }) }];
  return [
    ...(before ? [] : [{ kind: 'host.added', at: after.firstSeen, ...common } as const]),
    ...bootDrafts(before, after, common),
    ...presenceDrafts(before, after, common),
    ...conflictDrafts(before, after, common),
    ...providerDrafts(before, after),
    ...clockDrafts(before, after, common),
  ];
}

interface Common {
  readonly hostname: string;
  readonly by: string;
}

function bootDrafts(before: HostSummary | undefined, after: HostSummary, common: Common): Draft[] {
  const drafts: Draft[] = [];
  const { bootId, bootedAt, agentVersion } = after;
  if (bootId !== undefined && bootId !== before?.bootId) {
    const reason = `boot id ${bootId}${bootedAt ? `, booted at ${bootedAt}` : ''}`;
    drafts.push({ kind: 'host.booted', ...common, reason });
  }
  if (agentVersion !== undefined && agentVersion !== before?.agentVersion) {
    const from = before?.agentVersion;
    drafts.push({ kind: 'host.upgraded', ...present({ from }), to: agentVersion, ...common });
  }
  return drafts;
}

function presenceDrafts(
  before: HostSummary | undefined,
  { presence }: HostSummary,
  common: Common,
): Draft[] {
  if (!presence || presence.isConnected === before?.presence?.isConnected) return [];
  const kind = presence.isConnected ? 'host.connected' : 'host.disconnected';
  const since = before?.presence?.since;
  return [{ kind, at: presence.since, ...present({ since }), ...common }];
}

function conflictDrafts(
  before: HostSummary | undefined,
  { conflictSince }: HostSummary,
  common: Common,
): Draft[] {
  if (conflictSince === before?.conflictSince) return [];
  return conflictSince === undefined
    ? [{ kind: 'host.conflict-ended', ...present({ since: before?.conflictSince }), ...common }]
    : [{ kind: 'host.conflict', at: conflictSince, ...common }];
}

function providerDrafts(before: HostSummary | undefined, after: HostSummary): Draft[] {
  const [was, is] = [before && lostProvidersIncident(before), lostProvidersIncident(after)];
  if ((was === undefined) === (is === undefined)) return [];
  const common = { hostname: after.hostname, by: 'service' };
  return is
    ? [{ kind: 'host.providers-lost', ...present({ at: is.since }), ...common, reason: is.reason }]
    : [{ kind: 'host.providers-restored', ...toEnd(was), ...common }];
}

function clockDrafts(before: HostSummary | undefined, after: HostSummary, common: Common): Draft[] {
  const { hostname, clockAheadSeconds: ahead } = after;
  const [was, is] = [
    skewIncident(hostname, before?.clockAheadSeconds),
    skewIncident(hostname, ahead),
  ];
  if (is) return was ? [] : [{ kind: 'host.clock-off', ...common, reason: is.reason }];
  // An agent that no longer measures its clock has not mended it.
  if (!was || ahead === undefined) return [];
  return [{ kind: 'host.clock-right', ...common, ...toEnd(was) }];
}

/** The end of an incident has what the incident was. */
function toEnd(incident: Incident | undefined) {
  return present({ since: incident?.since, reason: incident?.reason });
}
