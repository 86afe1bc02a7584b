import { FLOODS } from './scenarios.ts';
import { testShortForms } from './short-form.ts';

testShortForms(FLOODS);
