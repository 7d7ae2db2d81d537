;; SPDX-License-Identifier: MIT
;; heavy does twice light's work, 51 frames of deep below: for any Scheme, whose program defines turns' size.
(define (spin n) (do ((i 0 (+ i 1)) (x 1 (modulo (+ (* x 110351) i) 1073741824))) ((= i n) x)))
(define (heavy n) (quotient (spin (* 2 n)) 2))
(define (light n) (quotient (spin n) 4))
(define (deep d n) (if (> d 0) (+ (deep (- d 1) n) 1) (+ (heavy n) (light n))))
(define (turns n) (do ((i 0 (+ i 1)) (sum 0 (+ sum (deep 50 (+ n (* (modulo i 97) (quotient n 100))))))) ((= i 400) (display sum) (newline))))
