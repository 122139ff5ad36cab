// Microversions as OpenStack negotiates them:
// https://specs.openstack.org/openstack/api-sig/guidelines/microversion_specification.html

import { NotAcceptable } from '#core/domain/errors.ts';
import type { RouteRow } from '#functions/routes.ts';

export const microversions = ['2.0', '2.1', '2.2', '2.3'] as const;
export type Microversion = (typeof microversions)[number];

export const minimum: Microversion = '2.0';
export const maximum: Microversion = '2.3';

/** Cyborg's API has microversions; the operator's API and the console beside it have none. */
export function hasMicroversions(row: Pick<RouteRow, 'resource'> | undefined): boolean {
  return row?.resource !== 'operator' && row?.resource !== 'console';
}

const header = 'openstack-api-version';

/** The header of a request; it may hold the versions of several services. */
export function requestedMicroversion(
  headers: Readonly<Record<string, string | undefined>>,
  byDefault: Microversion,
): Microversion {
  const text = headers[header];
  if (text === undefined) return byDefault;
  const requested = versionFor(text);
  if (requested === undefined) {
    throw new NotAcceptable(`${JSON.stringify(text)} names no version of 'accelerator'.`);
  }
  if (requested === 'latest') return maximum;
  const supported = microversions.find((version) => version === requested);
  if (supported) return supported;
  throw new NotAcceptable(
    `Version ${requested} was requested but the minimum supported version is ${minimum} and the maximum ${maximum}.`,
  );
}

/**
 * `accelerator 2.1`, also as one of several entries; the last one counts. A bare `2.1` is
 * deprecated.
 */
function versionFor(text: string): string | undefined {
  const entries = text.split(',').map((entry) => entry.trim().split(/\s+/));
  const named = entries.filter(([service, version, more]) => {
    return service?.toLowerCase() === 'accelerator' && version !== undefined && more === undefined;
  });
  const version =
    named.at(-1)?.[1] ??
    (entries.length === 1 && entries[0]?.length === 1 ? entries[0][0] : undefined);
  return version !== undefined && /^(\d+\.\d+|latest)$/.test(version) ? version : undefined;
}

export function isAtLeast(version: Microversion, since: Microversion): boolean {
  return microversions.indexOf(version) >= microversions.indexOf(since);
}

/** On a 406, for which no version was used: the versions there are. */
export const rangeHeaders: Readonly<Record<string, string>> = {
  Vary: 'OpenStack-API-Version',
  'OpenStack-API-Minimum-Version': minimum,
  'OpenStack-API-Maximum-Version': maximum,
};

/** On every answer below the version's path. */
export function microversionHeaders(used: Microversion): Record<string, string> {
  return {
    ...rangeHeaders,
    'OpenStack-API-Version': `accelerator ${used}`,
  };
}
