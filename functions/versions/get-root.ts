import { rootAnswer } from '#core/contracts/api/versions.ts';
import { action } from '#functions/http/action.ts';
import { rootDocument } from './documents.ts';

export const getRoot = action({ answers: { 200: rootAnswer } }, async ({ base }) => ({
  body: rootDocument(base),
}));
