// Requests for device profiles.

import * as z from 'zod';
import { admin, by, fresh, groups, none, type Pair, profiles } from './pair.ts';
import { profile, profileList, refusal } from './shapes.ts';

/** As Cyborg's tests send a profile: with what only an answer has. */
const whole = { id: 1, description: 'text', created_at: '2019-10-09 06:31:59+00:00' };

const [rc, trait] = ['resources:FPGA', 'trait:CUSTOM_FPGA_INTEL_PAC_ARRIA10'] as const;
/** A profile, in whose first group one key stands in the place of another. */
const profileWith = (name: string, key: string, value: string, without: string) => {
  const [{ [without]: _, ...rest } = {}, second] = groups as readonly Record<string, string>[];
  return { ...whole, name, groups: [{ ...rest, [key]: value }, second] };
};
const refusedProfile = (name: string, key: string, value: string, without: string): Pair => ({
  name,
  request: () => ['POST', profiles, { body: [profileWith('refused', key, value, without)] }],
  status: 400,
  shape: refusal,
});
const spaced = (name: string, key: string, value: string, without: string): Pair => ({
  name,
  request: () => ['POST', profiles, { body: [profileWith(fresh('spaced'), key, value, without)] }],
  status: 201,
  shape: profile,
});

export const profilePairs: readonly Pair[] = [
  {
    name: 'one by uuid',
    request: (at) => ['GET', `${profiles}/${at.known.profile}`],
    status: 200,
    shape: z.object({ device_profile: profile }),
  },
  {
    name: 'one by name at 2.1',
    request: () => ['GET', `${profiles}/one`, by(admin, '2.1')],
    status: 406,
    here: [200, '| `GET` of a profile by name | yes | from 2.2, else 406'],
  },
  {
    name: 'one by name at 2.2',
    request: () => ['GET', `${profiles}/one`, by(admin, '2.2')],
    status: 200,
    shape: z.object({ device_profile: profile }),
  },
  { name: 'all', request: () => ['GET', profiles], status: 200, shape: profileList },
  {
    name: 'by name',
    request: () => ['GET', `${profiles}?name=pairs`],
    status: 200,
    shape: profileList,
  },
  {
    name: 'create, with what an answer has',
    request: () => {
      const uuid = 'a95e10ae-b3e3-4eab-a513-1afae6f17c51';
      return ['POST', profiles, { body: [{ ...whole, uuid, name: fresh('new'), groups }] }];
    },
    status: 201,
    shape: profile,
  },
  {
    name: 'create with traits, as in the reference',
    request: () => {
      const description = 'device profile description';
      return ['POST', profiles, { body: [{ name: fresh('new'), description, groups }] }];
    },
    status: 201,
    shape: profile,
  },
  {
    name: 'create with an image, as in the reference',
    request: () => {
      const [group] = groups;
      const withImage = [{ ...group, 'accel:bitstream_id': none }];
      return ['POST', profiles, { body: [{ name: fresh('new'), groups: withImage }] }];
    },
    status: 201,
    shape: profile,
  },
  {
    name: 'create without a name',
    request: () => ['POST', profiles, { body: [{ ...whole, groups }] }],
    status: 500,
    shape: refusal,
    here: [400, 'bad input that Cyborg answers 500'],
  },
  {
    name: 'create without groups',
    request: () => ['POST', profiles, { body: [{ ...whole, name: 'refused' }] }],
    status: 500,
    shape: refusal,
    here: [400, 'bad input that Cyborg answers 500'],
  },
  {
    name: 'create with a name of other characters',
    request: () => ['POST', profiles, { body: [{ ...whole, name: '!', groups }] }],
    status: 400,
    shape: refusal,
  },
  refusedProfile('create with an unknown key', 'fake:FPGA', 'required', rc),
  refusedProfile('create with an unknown value of a trait', trait, 'fake', trait),
  refusedProfile('create with an unknown trait', 'trait:FAKE_TRAIT', 'required', trait),
  refusedProfile('create with an unknown class', 'resources:FAKE_RC', '1', rc),
  refusedProfile('create with no number', 'resources:CUSTOM_FAKE_RC', 'fake', rc),
  spaced(
    'create with spaces in a trait',
    'trait:  CUSTOM_FPGA_INTEL_PAC_ARRIA10',
    'required',
    trait,
  ),
  spaced('create with spaces in a class', 'resources: FPGA ', '1', rc),
  {
    name: 'delete by uuid',
    request: async (at) => {
      const { json } = await at.world.createProfile(fresh('old'), ...groups);
      return ['DELETE', `${profiles}/${json.uuid}`];
    },
    status: 204,
  },
  {
    name: 'delete by name',
    request: async (at) => {
      const name = fresh('old');
      await at.world.createProfile(name, ...groups);
      return ['DELETE', `${profiles}/${name}`];
    },
    status: 204,
  },
  {
    name: 'delete several by names',
    request: async (at) => {
      const names = [fresh('old'), fresh('old')];
      for (const name of names) await at.world.createProfile(name, ...groups);
      return ['DELETE', `${profiles}?value=${names}`];
    },
    status: 204,
  },
];
