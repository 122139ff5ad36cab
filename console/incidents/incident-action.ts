// The action of an incident on its host or device.

import type { Incident } from '#console/api/answers.ts';
import { deviceActions } from '#console/devices/device-actions.ts';
import { hostActions } from '#console/hosts/host-actions.ts';
import type { Action, ActionValues } from '#console/parts/dialog/action.ts';
import type { IncidentAction } from '#core/domain/history/incidents.ts';

type ActionOf = (incident: Incident) => Action | undefined;

const actions: Readonly<Record<IncidentAction, ActionOf>> = {
  rediscover: ({ hostname }) => hostActions(hostname).rediscover,
  forget: ({ hostname }) => hostActions(hostname).forget,
  reconcile: ({ hostname }) => hostActions(hostname).reconcile,
  resume: ({ hostname }) => hostActions(hostname).resume,
  'force-release': ({ device_uuid: uuid, kind }) => {
    if (uuid === null) return undefined;
    return kind === 'awaits-power-cycle' ? giveUpProgram(uuid) : cleanAgain(uuid);
  },
  reap: ({ instance_uuid: uuid }) => (uuid === null ? undefined : reap(uuid)),
  // The page of the host lists the boots, one of which the operator has to choose.
  settle: () => undefined,
};

/** Undefined where no request ends the incident. */
export function incidentAction(incident: Incident): Action | undefined {
  const { action } = incident;
  return action === null ? undefined : actions[action](incident);
}

function cleanAgain(uuid: string): Action {
  const { forceRelease } = deviceActions(uuid);
  const values: ActionValues = { reason: 'checked by an operator' };
  return {
    ...forceRelease,
    explains:
      'The host is asked to clean the device again; its attach handles in quarantine return to the pool once it has done so.',
    fields: [],
    request: () => forceRelease.request(values),
  };
}

function giveUpProgram(uuid: string): Action {
  const { forceRelease } = deviceActions(uuid);
  const values: ActionValues = { reason: 'the program is given up' };
  return {
    ...forceRelease,
    verb: 'Give up the program',
    explains:
      'The program ends as failed, and the device can be enabled. Its component runs the new version after any later power cycle.',
    fields: [],
    request: () => forceRelease.request(values),
  };
}

function reap(instance: string): Action {
  return {
    verb: 'Reap',
    object: instance,
    explains:
      'Nova is asked about the server once more. If it is on no host and has no allocation, its accelerator requests are deleted and its devices are free.',
    fields: [],
    isFinal: true,
    request: () => ({
      method: 'POST',
      path: '/operator/v1/reap',
      body: { dry_run: false, instance },
    }),
    done: (answer) => {
      const { released = [], kept = [] } = answer as Partial<ReapAnswer>;
      if (released.length > 0) return `${instance}: its devices are released.`;
      return `${instance} keeps its devices. ${kept[0]?.reason ?? 'It no longer waits.'}`;
    },
  };
}

interface ReapAnswer {
  readonly released: readonly string[];
  readonly kept: readonly { readonly reason: string }[];
}
