// Roles are compared without case, as oslo.policy compares them, wherever a role decides.

import { describe, expect, it } from 'vitest';
import { type Caller, isAdmin } from '#core/domain/caller.ts';
import { checkMayProgram } from '#core/domain/device/firmware/program-grants.ts';
import { isAllowed, policies, policyRules } from '#core/domain/policy.ts';
import { seesAllProfiles } from '#core/domain/profile/profile-changes.ts';
import { hasRole } from '#core/domain/roles.ts';
import { enforce } from '#functions/http/policy.ts';

const spellings = [
  (role: string) => role,
  (role: string) => role.toUpperCase(),
  (role: string) => `${role.slice(0, 1).toUpperCase()}${role.slice(1)}`,
];
const personas = ['reader', 'member', 'manager', 'admin', 'service'];

const as = (...roles: string[]): Caller => ({
  requestId: 'req-1',
  userId: 'u1',
  projectId: 'p1',
  roles,
  hasServiceToken: false,
});

describe.each(personas)('the role %s', (role) => {
  it.each(policyRules)('has the same rights in each spelling: %s', (rule) => {
    const expected = (policies[rule] as readonly string[]).includes(role);
    for (const spell of spellings) {
      expect(isAllowed(rule, as(spell(role)), {}), spell(role)).toBe(expected);
    }
  });
});

describe('an override of the policy', () => {
  const rule = 'cyborg:device:get_all';

  it.each([
    ['Operator', 'operator'],
    ['operator', 'OPERATOR'],
    ['Operator', 'oPERATOR'],
  ])('that names %s allows %s', (named, role) => {
    expect(isAllowed(rule, as(role), { [rule]: [named] })).toBe(true);
    expect(isAllowed(rule, as('Admin'), { [rule]: [named] })).toBe(false);
  });

  it('with an empty list allows no spelling', () => {
    expect(() => enforce(rule, as('Admin', 'admin'), { [rule]: [] })).toThrow('the rule has none');
  });
});

it.each(['operators', 'admin ', 'admin\u0000', '', 'adm', 'sysadmin'])(
  'the role %j is not admin',
  (role) => {
    expect(hasRole([role], ['admin'])).toBe(false);
  },
);

it('an Admin acts for any tenant, and programs without a grant', () => {
  expect(isAdmin(as('Admin'))).toBe(true);
  expect(() =>
    checkMayProgram({ uuid: 'd1' as never, grants: [] }, as('ADMIN'), {}, 0),
  ).not.toThrow();
});

it.each(['Service', 'SERVICE', 'Admin'])('the role %s sees profiles of each project', (role) => {
  expect(seesAllProfiles(as(role), {})).toBe(true);
});
