import { isAdmin } from '#core/domain/caller.ts';
import { Forbidden } from '#core/domain/errors.ts';
import type { LogFields } from '#core/log.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { noteRefusal } from '#core/operations/bind/note-refusal.ts';
import { unbindArqs } from '#core/operations/release/unbind-arqs.ts';
import { refuseWithoutServiceToken } from '#core/operations/service-token.ts';
import { novaAction } from '#functions/http/action.ts';
import { documentedUpdate, namesProject, readUpdate, type Update, updateBody } from './schema.ts';

/**
 * Binds or unbinds; answers 202. A bind that needs nothing from its host is `Bound` when it
 * answers.
 */
export const update = novaAction(
  {
    body: updateBody,
    documentedBody: documentedUpdate,
    answers: { 202: null },
    refuses: [404, 409],
  },
  async ({ deps, caller, body, microversion, about }) => {
    const update = readUpdate(body, microversion);
    about(describeUpdate(update));
    if (namesProject(body) && !isAdmin(caller)) {
      throw new Forbidden('/project_id can be set by an admin only.');
    }
    if (update.kind === 'unbind') {
      await unbindArqs(deps, caller, update.arqUuids);
      return {};
    }
    const [first] = update.targets;
    if (first) await refuseWithoutServiceToken(deps, caller, first.instanceUuid, 'binding');
    try {
      await bindArqs(deps, caller, update.targets);
    } catch (error) {
      await noteRefusal(deps, caller, update.targets, error);
      throw error;
    }
    return {};
  },
);

function describeUpdate(update: Update): LogFields {
  if (update.kind === 'unbind') return { arqs: update.arqUuids };
  const { targets } = update;
  return {
    arqs: targets.map(({ arqUuid }) => arqUuid),
    instance: targets[0]?.instanceUuid,
    host: targets[0]?.hostname,
    providers: [...new Set(targets.map(({ providerUuid }) => providerUuid))],
  };
}
