import { CRASHES } from './scenarios.ts';
import { testShortForms } from './short-form.ts';

testShortForms(CRASHES);
