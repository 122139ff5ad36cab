// Device profiles of Cyborg: those that this service accepts, under their own uuids. Pure.

import * as z from 'zod';
import { importer } from '#core/domain/arq/imports.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import type { DeviceProfileUuid } from '#core/domain/ids.ts';
import { givesSame } from '#core/domain/profile/alternatives.ts';
import {
  canonicalGroups,
  checkProfileName,
  checkProfileUuid,
  type DeviceProfile,
} from '#core/domain/profile/device-profile.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { CyborgTables } from './cyborg-tables.ts';
import type { CloudFacts, PlanRow } from './plan.ts';

type CyborgProfile = CyborgTables['profiles'][number];

/** Cyborg's first microversion: its profiles have had this form since then. */
const microversion = '2.0';

const body = z.object({
  groups: z.array(z.record(z.string(), z.union([z.string(), z.number()]))),
});

/** The profile's groups as Cyborg has them; undefined if the text is not valid JSON of groups. */
export function parseGroups({ profile_json: text }: CyborgProfile) {
  return body.safeParse(parseJson(text)).data?.groups;
}

export function planProfiles({ profiles }: CyborgTables, { stored }: CloudFacts) {
  const rows: PlanRow[] = [];
  const planned: DeviceProfile[] = [];
  for (const each of profiles) {
    const { name, uuid } = each;
    const read = toProfile(each);
    if (typeof read === 'string') {
      rows.push({ what: 'profile', name, verdict: 'refuse', note: read });
      continue;
    }
    const same = stored.profiles.find((one) => one.name === name || one.uuid === read.uuid);
    const isPresent = same?.name === name && same.uuid === read.uuid && givesSame(same, read);
    if (same && !isPresent) {
      const note = `a profile ${same.name} with the uuid ${same.uuid} and other groups exists here`;
      rows.push({ what: 'profile', name, verdict: 'refuse', note });
      continue;
    }
    rows.push({ what: 'profile', name, verdict: isPresent ? 'present' : 'import', note: uuid });
    planned.push(read);
  }
  return { rows, profiles: planned };
}

function toProfile(profile: CyborgProfile): DeviceProfile | string {
  const { name, uuid, description, created_at: createdAt, updated_at: updatedAt } = profile;
  const groups = parseGroups(profile);
  if (!groups) return 'its groups are not valid JSON';
  try {
    checkProfileName(name);
    checkProfileUuid(uuid);
    return {
      uuid: uuid.toLowerCase() as DeviceProfileUuid,
      name,
      groups: canonicalGroups(groups),
      revision: 1,
      microversion,
      createdBy: importer,
      createdAt: createdAt ?? new Date(0).toISOString(),
      ...present({ description, updatedAt }),
    };
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    return error.message;
  }
}
