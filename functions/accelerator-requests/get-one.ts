import { arqAnswer } from '#core/contracts/api/accelerator-requests.ts';
import { maySee } from '#core/domain/caller.ts';
import { ArqNotFound } from '#core/domain/errors.ts';
import { novaAction } from '#functions/http/action.ts';
import { arqUuid } from './schema.ts';
import { shownStates } from './shown-states.ts';
import { viewArq } from './view.ts';

/** Another project's ARQ is not found. */
export const getOne = novaAction(
  { answers: { 200: arqAnswer }, refuses: [404] },
  async ({ deps, caller, id, base }) => {
    const uuid = arqUuid(id);
    const arq = (await deps.store.arqs.byUuids([uuid])).get(uuid);
    if (!arq || !maySee(caller, arq.projectId)) throw new ArqNotFound([uuid]);
    const states = await shownStates(deps, [arq]);
    return { body: viewArq(arq, base, states.get(uuid)) };
  },
);
