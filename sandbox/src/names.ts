/** Words of a school in many scripts; some subjects hold characters that a path must encode. */
export const subjects = [
  'algebra-7b',
  'physics-10a',
  'c#-club',
  '100%-geometry',
  'why?-philosophy',
  'reading/writing',
  'история-8',
  '数学-三班',
  'الكيمياء-9',
  'art & craft',
  'música-5',
  'chemistry-11',
] as const

export const firstNames = [
  'Amina',
  '王芳',
  'Łukasz',
  'محمد',
  'Zoë',
  'O’Neil',
  '李小龙',
  'ליאור',
  'Ngọc',
  'Søren',
  'प्रिया',
  'Jean-Luc',
  'さくら',
  '👩‍🚀 Ada',
  'İpek',
  'Thandiwe',
  'Владимир',
  'José',
  'فاطمة',
  'Bo',
] as const

export const lastNames = [
  'Okafor',
  '陈',
  'Nowak',
  'الحسن',
  'García',
  'Müller',
  'Nguyễn',
  'שמיר',
  '山田',
  'Smith',
  'Петрова',
  'Ó Briain',
] as const

export const messages = [
  'Good morning!',
  '老师好',
  'مرحبا',
  'I do not hear you 🔇',
  'can you repeat please?',
  '😂😂😂',
  'yes',
  '  no ',
  'x² + y² = r²',
  'Ще не готово…',
  'page 42, line 7',
  '"quoted", \\ and \'plain\'',
  '<b>bold?</b>',
  'première ligne\nseconde ligne',
  '請問作業是什麼?',
  '🙋🏽‍♀️',
  'שאלה קטנה',
  'thank you, teacher',
] as const

export const documents = [
  ['Lesson plan', 'pdf'],
  ['第三课', 'pptx'],
  ['الواجب', 'docx'],
  ['periodic table', 'png'],
  ['слайды', 'pptx'],
  ['worksheet 📄', 'pdf'],
  ['listening exercise', 'mp3'],
] as const

export const questions = [
  ['A', 'B'],
  ['A', 'B', 'C', 'D'],
  ['yes', 'no', 'perhaps'],
  ['春', '夏', '秋', '冬'],
  ['صح', 'خطأ'],
] as const
