import { isAdmin } from '#core/domain/caller.ts';
import { Forbidden } from '#core/domain/errors.ts';
import type { LogFields } from '#core/log.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { unbindArqs } from '#core/operations/release/unbind-arqs.ts';
import { refuseWithoutServiceToken } from '#core/operations/service-token.ts';
import { action } from '#functions/http/action.ts';
import { noQuery } from '#functions/http/query.ts';
import { documentedUpdate, namesProject, readUpdate, type Update, updateBody } from './schema.ts';

/**
 * Binds or unbinds; answers 202. A bind that needs nothing from its host is `Bound` when it
 * answers.
 */
export const update = action(
  {
    query: noQuery,
    body: updateBody,
    documentedBody: documentedUpdate,
    answers: { 202: null },
    refuses: [404, 409],
  },
  async ({ deps, caller, body, microversion, about }) => {
    const wanted = readUpdate(body, microversion);
    about(subjectOf(wanted));
    if (namesProject(body) && !isAdmin(caller)) {
      throw new Forbidden('/project_id can be set by an admin only.');
    }
    if (wanted.kind === 'unbind') {
      await unbindArqs(deps, caller, wanted.arqUuids);
      return {};
    }
    const [first] = wanted.targets;
    if (first) await refuseWithoutServiceToken(deps, caller, first.instanceUuid, 'binding');
    await bindArqs(deps, caller, wanted.targets);
    return {};
  },
);

function subjectOf(wanted: Update): LogFields {
  if (wanted.kind === 'unbind') return { arqs: wanted.arqUuids };
  const { targets } = wanted;
  return {
    arqs: targets.map(({ arqUuid }) => arqUuid),
    instance: targets[0]?.instanceUuid,
    host: targets[0]?.hostname,
    providers: [...new Set(targets.map(({ providerUuid }) => providerUuid))],
  };
}
